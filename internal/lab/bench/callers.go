package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
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

// crew is the callers of one process.
type crew struct {
	contender contender
	workload  workload
	section   *critical
	win       window
	begin     time.Time
	waits     *recorder
	handovers *recorder
	alone     *recorder
}

// caller is one goroutine of it.
type caller struct {
	*crew
	me        int64 // unlike anybody else's on this machine
	number    int   // in its process
	part      part  // what it asks for now
	mutexes   []mutex
	waits     notes
	handovers notes
	alone     notes
	longest   time.Duration
	entered   int64
	seen      int64
	failed    int64
	failure   error
}

// newCallers gives each caller its mutexes.
func (w *crew) newCallers(s session, name string) ([]*caller, error) {
	var all []*caller
	for i := range w.workload.callers {
		c := &caller{
			crew: w, me: int64(os.Getpid())<<20 | int64(i), number: i,
			waits: notes{to: w.waits}, handovers: notes{to: w.handovers}, alone: notes{to: w.alone},
		}
		for k := range w.workload.names {
			own := name
			if !w.workload.shared {
				own = fmt.Sprintf("%s:%d:%d", name, i, k)
			}
			m, err := s.mutex(i, own)
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
func (w *crew) drive(callers []*caller) tally {
	w.begin = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), w.win.stop)
	defer cancel()
	var wg sync.WaitGroup
	var cpu time.Duration
	wg.Go(func() {
		time.Sleep(w.win.from)
		cpu = -usedCPU()
		time.Sleep(w.win.to - time.Since(w.begin))
		cpu += usedCPU()
	})
	for _, c := range callers {
		wg.Go(func() { c.run(ctx) })
	}
	wg.Wait()
	t := sum(callers)
	t.CPU, t.Waits, t.Handovers, t.Alone = cpu, w.waits.encode(), w.handovers.encode(), w.alone.encode()
	return t
}

// run is the loop. The clock is read twice a turn: what of it is the measuring
// itself is seen in the row "limit", the same loop without a lock.
func (c *caller) run(ctx context.Context) {
	defer c.waits.flush()
	defer c.handovers.flush()
	defer c.alone.flush()
	lockCtx := ctx // ends a wait at the window's end
	if !c.workload.shared && !c.workload.cancels && !c.contender.hangs {
		lockCtx = context.Background()
	}
	for i := 0; ctx.Err() == nil; i++ {
		if idle := c.contender.idle; idle > 0 {
			time.Sleep(idle + rand.N(2*idle))
		}
		if !c.once(lockCtx, c.mutexes[i%len(c.mutexes)]) {
			return
		}
	}
}

// once locks, works and unlocks, and reports whether to go on.
func (c *caller) once(ctx context.Context, m mutex) bool {
	c.part = c.workload.part(c.number)
	if s, ok := m.(sharer); ok {
		s.ask(c.part)
	}
	var onMachine int64
	if c.workload.handover {
		onMachine = machineClock()
	}
	asked := time.Since(c.begin)
	err := m.lock(ctx)
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
		c.waits.add(got - asked)
		if c.part.capacity > 1 && c.part.alone() {
			c.alone.add(got - asked)
		}
	}
	if c.workload.handover {
		if d, ok := c.section.handedOver(c.me, onMachine); ok && measured {
			c.handovers.add(d)
		}
	}
	c.work()
	if err := m.unlock(); err != nil && time.Since(c.begin) < c.win.to {
		c.fail(err)
	}
	return true
}

func (c *caller) work() {
	if !c.workload.shared || c.contender.outside {
		return
	}
	read, seen := c.section.enter(c.part)
	if c.part.alone() {
		c.entered++
	}
	c.seen += seen
	if c.workload.work > 0 {
		time.Sleep(c.workload.work)
	}
	c.section.leave(c.part, read)
	if c.workload.handover {
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
