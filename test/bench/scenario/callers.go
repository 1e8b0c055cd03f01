package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// window is what of a run of callers is measured, since it began.
type window struct{ from, to, stop time.Duration }

// tally is what the callers of one process did.
type tally struct {
	Counts    []int         // acquisitions in the window, by caller
	Waits     []byte        // an encoded histogram of their waits
	Handovers []byte        // of the time from a release to the grant in another process
	Longest   time.Duration // wait, those that were cut by the end of the cell included
	CPU       time.Duration // of this process in the window
	Alone     []byte        // as Waits: of those who asked for all that a name has, where others ask for a part
	Entered   int64         // critical sections entered by who had to be alone there, outside the window too
	Seen      int64         // entered while others were inside for whom there was no room
	Failed    int64
	Failure   string // the first one
}

// workers is the callers of one process.
type workers struct {
	contender contend.Contender
	workload  contend.Workload
	section   *critical
	win       window
	begin     time.Time
	waits     *Recorder
	handovers *Recorder
	alone     *Recorder
}

// caller is one goroutine of it.
type caller struct {
	*workers
	me        int64        // unlike anybody else's on this machine
	number    int          // in its process
	part      contend.Part // what it asks for now
	mutexes   []contend.Mutex
	waits     Notes
	handovers Notes
	alone     Notes
	longest   time.Duration
	entered   int64
	seen      int64
	failed    int64
	failure   error
}

// newCallers gives each caller its mutexes.
func (w *workers) newCallers(s contend.Session, name string) ([]*caller, error) {
	var all []*caller
	for i := range w.workload.Callers {
		c := &caller{
			workers: w, me: int64(os.Getpid())<<20 | int64(i), number: i,
			waits: Notes{To: w.waits}, handovers: Notes{To: w.handovers}, alone: Notes{To: w.alone},
		}
		for k := range w.workload.Names {
			own := name
			if !w.workload.Shared {
				own = fmt.Sprintf("%s:%d:%d", name, i, k)
			}
			m, err := s.Mutex(i, own)
			if err != nil {
				return nil, err
			}
			c.mutexes = append(c.mutexes, m)
		}
		all = append(all, c)
	}
	return all, nil
}

// drive lets the callers run until the window's stop and returns what they did.
func (w *workers) drive(callers []*caller) tally {
	w.begin = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), w.win.stop)
	defer cancel()
	var wg sync.WaitGroup
	var cpu time.Duration
	wg.Go(func() {
		time.Sleep(w.win.from)
		cpu = -host.UsedCPU()
		time.Sleep(w.win.to - time.Since(w.begin))
		cpu += host.UsedCPU()
	})
	for _, c := range callers {
		wg.Go(func() { c.Run(ctx) })
	}
	wg.Wait()
	t := sum(callers)
	t.CPU, t.Waits, t.Handovers, t.Alone = cpu, w.waits.encode(), w.handovers.encode(), w.alone.encode()
	return t
}

// Run is the loop. The clock is read twice a turn: what of it is the measuring
// itself is seen in the row "limit", the same loop without a lock.
func (c *caller) Run(ctx context.Context) {
	defer c.waits.Flush()
	defer c.handovers.Flush()
	defer c.alone.Flush()
	lockCtx := ctx // ends a wait at the window's end
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
func (c *caller) once(ctx context.Context, m contend.Mutex) bool {
	c.part = c.workload.Part(c.number)
	if s, ok := m.(contend.Sharer); ok {
		s.Ask(c.part)
	}
	var onMachine int64
	if c.workload.Handover {
		onMachine = machineClock()
	}
	asked := time.Since(c.begin)
	err := m.Lock(ctx)
	got := time.Since(c.begin)
	if err != nil {
		if got < c.win.to {
			c.fail(err)
			time.Sleep(time.Millisecond) // what fails at once must not spin
			return true
		}
		c.longest = max(c.longest, got-asked)
		return false // cut by the end
	}
	measured := got >= c.win.from && got < c.win.to
	if measured {
		c.longest = max(c.longest, got-asked)
		c.waits.Add(got - asked)
		if c.part.Capacity > 1 && c.part.Alone() {
			c.alone.Add(got - asked)
		}
	}
	if c.workload.Handover {
		if d, ok := c.section.handedOver(c.me, onMachine); ok && measured {
			c.handovers.Add(d)
		}
	}
	c.work()
	if err := m.Unlock(); err != nil && time.Since(c.begin) < c.win.to {
		c.fail(err)
	}
	return true
}

func (c *caller) work() {
	if !c.workload.Shared || c.contender.Outside {
		return
	}
	read, seen := c.section.enter(c.part)
	if c.part.Alone() {
		c.entered++
	}
	c.seen += seen
	if c.workload.Work > 0 {
		time.Sleep(c.workload.Work)
	}
	c.section.leave(c.part, read)
	if c.workload.Handover {
		c.section.releasing(c.me)
	}
}

func (c *caller) fail(err error) {
	if c.failed++; c.failure == nil {
		c.failure = err
	}
}

func sum(callers []*caller) tally {
	var t tally
	for _, c := range callers {
		t.Counts = append(t.Counts, c.waits.count)
		t.Longest = max(t.Longest, c.longest)
		t.Entered += c.entered
		t.Seen += c.seen
		t.Failed += c.failed
		if t.Failure == "" && c.failure != nil {
			t.Failure = c.failure.Error()
		}
	}
	return t
}

// warm lets every caller at once take and give back a lock that nobody else
// wants: a pool of connections that fills during the window is no cost of
// locking.
func (w *workers) warm(s contend.Session, name string) error {
	var wg sync.WaitGroup
	failed := make([]error, w.workload.Callers)
	for i := range failed {
		wg.Go(func() { failed[i] = warmOne(s, i, fmt.Sprintf("%s:%d", name, i)) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

// warmOne tries more than once: rueidislock has been seen to wait for a wake-up
// that never came, with nobody else about.
func warmOne(s contend.Session, caller int, name string) error {
	m, err := s.Mutex(caller, name)
	if err != nil {
		return err
	}
	const tries = 5
	for range tries {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if err = m.Lock(ctx); err == nil {
			err = m.Unlock()
		}
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}
