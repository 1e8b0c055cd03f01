package callers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-go/holdfast/test/bench/counters"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// tally is what the callers of one process did.
type tally struct {
	Counts    []int              // acquisitions in the window, by caller
	Waits     []byte             // an encoded histogram of their waits
	Handovers []byte             // of the time from a release to the grant in another process
	Longest   time.Duration      // wait, those that the end of the run cut included
	Sums      map[string]float64 // what is added up over processes
	Failure   string             // the first call that failed
}

// process is the callers of one process.
type process struct {
	contender rivals.Contender
	workload  Workload
	mutex     rivals.Maker
	name      string // that is locked, or what the names begin with
	section   *section
	times     times
	begin     time.Time
}

// caller is one goroutine of it.
type caller struct {
	*process
	me                       int64 // unlike any other caller's on this machine
	mutexes                  []rivals.Mutex
	waits, handovers         *hdrhistogram.Histogram
	longest                  time.Duration
	entered, overlaps, fails int64
	failure                  error
}

// newHistogram holds durations of up to two minutes, to one percent.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(2*time.Minute), 2) }

func encoded(h *hdrhistogram.Histogram) []byte {
	text, _ := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // a buffer in memory takes all
	return text
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, 1), 2*time.Minute))) // in range, so no error
}

// newCaller makes the mutexes of a caller. It locks and releases a name of its own once before: a
// pool of connections that fills during the window is no cost of locking. It tries that more than
// once, since rueidislock has been seen to wait for a wake-up that never came.
func (p *process) newCaller(number int) (*caller, error) {
	c := &caller{process: p, me: int64(os.Getpid())<<20 | int64(number), waits: newHistogram(), handovers: newHistogram()}
	warm, err := p.mutex(number, fmt.Sprintf("%s:warm:%d", p.name, c.me))
	if err != nil {
		return nil, err
	}
	for range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if err = warm.Lock(ctx); err == nil {
			err = warm.Unlock()
		}
		if cancel(); err == nil {
			break
		}
	}
	for k := 0; k < p.workload.Names && err == nil; k++ {
		name := p.name
		if !p.workload.Shared {
			name = fmt.Sprintf("%s:%d:%d", name, number, k)
		}
		var m rivals.Mutex
		m, err = p.mutex(number, name)
		c.mutexes = append(c.mutexes, m)
	}
	return c, err
}

// newCallers makes all of them at once.
func (p *process) newCallers() ([]*caller, error) {
	all, failed := make([]*caller, p.workload.Callers), make([]error, p.workload.Callers)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i], failed[i] = p.newCaller(i) })
	}
	wg.Wait()
	return all, errors.Join(failed...)
}

// drive lets the callers run until the stop and returns what they did.
func (p *process) drive(callers []*caller) tally {
	p.begin = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), p.times.stop)
	defer cancel()
	t := tally{Sums: map[string]float64{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(p.times.from)
		cpu, objects, bytes := host.UsedCPU(), counters.Allocated("objects"), counters.Allocated("bytes")
		time.Sleep(p.times.to - time.Since(p.begin))
		t.Sums["client_cpu_us_per_op"] = float64((host.UsedCPU() - cpu).Microseconds())
		t.Sums["allocs_per_op"] = counters.Allocated("objects") - objects
		t.Sums["alloc_bytes_per_op"] = counters.Allocated("bytes") - bytes
	})
	for _, c := range callers {
		wg.Go(func() { c.loop(ctx) })
	}
	wg.Wait()
	waits, handovers := newHistogram(), newHistogram()
	for _, c := range callers {
		waits.Merge(c.waits)
		handovers.Merge(c.handovers)
		t.Counts = append(t.Counts, int(c.waits.TotalCount()))
		t.Longest = max(t.Longest, c.longest)
		t.Sums["entered"] += float64(c.entered)
		t.Sums["overlaps"] += float64(c.overlaps)
		t.Sums["failed"] += float64(c.fails)
		if t.Failure == "" && c.failure != nil {
			t.Failure = c.failure.Error()
		}
	}
	t.Waits, t.Handovers = encoded(waits), encoded(handovers)
	return t
}

// loop reads the clock twice a turn. What the measuring itself costs is seen in the row
// "limit", the same loop without a lock.
func (c *caller) loop(ctx context.Context) {
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
	var clock int64
	if c.workload.Handover {
		clock = time.Now().UnixNano()
	}
	asked := time.Since(c.begin)
	err := m.Lock(ctx)
	got := time.Since(c.begin)
	if err != nil {
		if got < c.times.to {
			c.fail(err)
			time.Sleep(time.Millisecond) // what fails at once must not spin
			return true
		}
		c.longest = max(c.longest, got-asked)
		return false // cut by the end
	}
	measured := got >= c.times.from && got < c.times.to
	if measured {
		c.longest = max(c.longest, got-asked)
		record(c.waits, got-asked)
	}
	if c.workload.Handover {
		if d, ok := c.section.handedOver(c.me, clock); ok && measured {
			record(c.handovers, d)
		}
	}
	c.work()
	if err := m.Unlock(); err != nil && time.Since(c.begin) < c.times.to {
		c.fail(err)
	}
	return true
}

func (c *caller) work() {
	if !c.workload.Shared || c.contender.Outside {
		return
	}
	read, seen := c.section.enter(c.workload.Capacity)
	c.entered++
	c.overlaps += seen
	if c.workload.Work > 0 {
		time.Sleep(c.workload.Work)
	}
	c.section.leave(read)
	if c.workload.Handover {
		c.section.releasing(c.me)
	}
}

func (c *caller) fail(err error) {
	if c.fails++; c.failure == nil {
		c.failure = err
	}
}
