package callers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// tally is what the callers of one process did.
type tally struct {
	Counts    []int         // acquisitions in the window, by caller
	Waits     []byte        // an encoded histogram of their waits
	Handovers []byte        // of the time from a release to the grant in another process
	Longest   time.Duration // wait, those that the end of the run cut included
	CPU       time.Duration // of this process in the window
	Objects   uint64        // allocated in the window
	Bytes     uint64
	Entered   int64 // entries into the critical section by callers that had to be alone there, outside the window too
	Overlaps  int64 // entries while others were inside and left no room
	Failed    int64
	Failure   string // the first one
}

// process is the callers of one process.
type process struct {
	contender        rivals.Contender
	workload         Workload
	section          *section
	from, to, stop   time.Duration // the window, and the end, since begin
	begin            time.Time
	waits, handovers *recorder
}

// caller is one goroutine of it.
type caller struct {
	*process
	me                       int64 // unlike any other caller's on this machine
	number                   int   // in its process
	mutexes                  []rivals.Mutex
	waits, handovers         notes
	longest                  time.Duration
	entered, overlaps, fails int64
	failure                  error
}

// newCallers gives each caller its mutexes.
func (p *process) newCallers(mutex rivals.Maker, name string) ([]*caller, error) {
	var all []*caller
	for i := range p.workload.Callers {
		c := &caller{
			process: p, me: int64(os.Getpid())<<20 | int64(i), number: i,
			waits: notes{to: p.waits}, handovers: notes{to: p.handovers},
		}
		for k := range p.workload.Names {
			own := name
			if !p.workload.Shared {
				own = fmt.Sprintf("%s:%d:%d", name, i, k)
			}
			m, err := mutex(i, own)
			if err != nil {
				return nil, err
			}
			c.mutexes = append(c.mutexes, m)
		}
		all = append(all, c)
	}
	return all, nil
}

// drive lets the callers run until the stop and returns what they did.
func (p *process) drive(callers []*caller) tally {
	p.begin = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), p.stop)
	defer cancel()
	var t tally
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(p.from)
		cpu, objects, bytes := host.UsedCPU(), allocated("objects"), allocated("bytes")
		time.Sleep(p.to - time.Since(p.begin))
		t.CPU, t.Objects, t.Bytes = host.UsedCPU()-cpu, allocated("objects")-objects, allocated("bytes")-bytes
	})
	for _, c := range callers {
		wg.Go(func() { c.loop(ctx) })
	}
	wg.Wait()
	for _, c := range callers {
		t.Counts = append(t.Counts, c.waits.count)
		t.Longest = max(t.Longest, c.longest)
		t.Entered += c.entered
		t.Overlaps += c.overlaps
		t.Failed += c.fails
		if t.Failure == "" && c.failure != nil {
			t.Failure = c.failure.Error()
		}
	}
	t.Waits, t.Handovers = p.waits.encode(), p.handovers.encode()
	return t
}

func allocated(what string) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:" + what}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// loop reads the clock twice a turn. What the measuring itself costs is seen in the row
// "limit", the same loop without a lock.
func (c *caller) loop(ctx context.Context) {
	defer c.waits.flush()
	defer c.handovers.flush()
	lockCtx := ctx // it ends a wait at the end of the run
	if !c.workload.Shared && !c.workload.Cancels && !c.contender.Hangs {
		lockCtx = context.Background()
	}
	for i := 0; ctx.Err() == nil; i++ {
		if idle := c.contender.Idle; idle > 0 {
			time.Sleep(idle + rand.N(2*idle))
		}
		if !c.once(lockCtx, c.mutexes[i%len(c.mutexes)]) {
			return
		}
	}
}

// once locks, works and unlocks, and reports whether to go on.
func (c *caller) once(ctx context.Context, m rivals.Mutex) bool {
	part := c.workload.part(c.number)
	var clock int64
	if c.workload.Handover {
		clock = time.Now().UnixNano()
	}
	asked := time.Since(c.begin)
	err := m.Lock(ctx, part)
	got := time.Since(c.begin)
	if err != nil {
		if got < c.to {
			c.fail(err)
			time.Sleep(time.Millisecond) // what fails at once must not spin
			return true
		}
		c.longest = max(c.longest, got-asked)
		return false // cut by the end
	}
	measured := got >= c.from && got < c.to
	if measured {
		c.longest = max(c.longest, got-asked)
		c.waits.add(got - asked)
	}
	if c.workload.Handover {
		if d, ok := c.section.handedOver(c.me, clock); ok && measured {
			c.handovers.add(d)
		}
	}
	c.work(part)
	if err := m.Unlock(); err != nil && time.Since(c.begin) < c.to {
		c.fail(err)
	}
	return true
}

func (c *caller) work(part rivals.Part) {
	if !c.workload.Shared || c.contender.Outside {
		return
	}
	read, seen := c.section.enter(part)
	if part.Alone() {
		c.entered++
	}
	c.overlaps += seen
	if c.workload.Work > 0 {
		time.Sleep(c.workload.Work)
	}
	c.section.leave(part, read)
	if c.workload.Handover {
		c.section.releasing(c.me)
	}
}

func (c *caller) fail(err error) {
	if c.fails++; c.failure == nil {
		c.failure = err
	}
}

// warm lets every caller lock and release a name of its own once: a pool of connections that
// fills during the window is no cost of locking.
func (p *process) warm(mutex rivals.Maker, name string) error {
	var wg sync.WaitGroup
	failed := make([]error, p.workload.Callers)
	for i := range failed {
		wg.Go(func() { failed[i] = p.warmOne(mutex, i, fmt.Sprintf("%s:%d", name, i)) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

// warmOne tries more than once: rueidislock has been seen to wait for a wake-up that never
// came, with nobody else about.
func (p *process) warmOne(mutex rivals.Maker, caller int, name string) error {
	m, err := mutex(caller, name)
	if err != nil {
		return err
	}
	const tries = 5
	for range tries {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if err = m.Lock(ctx, p.workload.part(caller)); err == nil {
			err = m.Unlock()
		}
		cancel()
		if err == nil {
			break
		}
	}
	return err
}
