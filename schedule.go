package holdfast

import (
	"container/heap"
	"time"
)

// timer is a place in the one schedule of a Client. What it belongs to embeds
// it or keeps it; there is no goroutine and no system timer for each.
type timer struct {
	when  instant
	index int // in the heap; -1: not set
	fire  func(now instant)
}

// schedule is the heap of timers that are set. It is guarded by the Client's
// mutex like all state of the core.
type schedule struct {
	timers timerHeap
	sleep  *time.Timer // wakes the loop
	until  time.Time   // when it will, by a clock that stands still in a suspend as it does
	held   int         // tenures that are held
}

// tick and slowTick are how often the loop looks while anything is scheduled: a
// machine that was suspended slept through its timers, and a holder must know
// within 250 ms of waking up. Who only waits has time.
const (
	tick     = 200 * time.Millisecond
	slowTick = 2 * time.Second
)

func newSchedule() schedule { return schedule{sleep: time.NewTimer(0)} }

func (s *schedule) set(t *timer, when, now instant) {
	switch {
	case t.index < 0:
		t.when = when
		heap.Push(&s.timers, t)
	case t.when != when:
		t.when = when
		heap.Fix(&s.timers, t.index)
	}
	s.within(when.sub(now))
}

// within makes the loop look in so long, at the latest. By our clock it would seem, after
// a suspend, to have looked long ago, while it sleeps on.
func (s *schedule) within(d time.Duration) {
	if d = max(0, min(d, s.every())); time.Until(s.until) > d {
		s.sleeps(d)
	}
}

func (s *schedule) sleeps(d time.Duration) {
	s.until = time.Now().Add(d)
	s.sleep.Reset(d)
}

// every is how long the loop sleeps at most.
func (s *schedule) every() time.Duration {
	if s.held > 0 {
		return tick
	}
	return slowTick
}

func (s *schedule) stop(t *timer) {
	if t.index >= 0 {
		heap.Remove(&s.timers, t.index)
	}
}

// due takes the first timer that is due, or nil.
func (s *schedule) due(now instant) *timer {
	if len(s.timers) == 0 || s.timers[0].when > now {
		return nil
	}
	return heap.Pop(&s.timers).(*timer)
}

// relax lets the loop sleep on when nothing is held any more: what was to wake it may be
// gone.
func (s *schedule) relax(now instant) {
	if s.held == 0 {
		s.rest(now)
	}
}

// rest lets the loop sleep until there is something to do.
func (s *schedule) rest(now instant) {
	d := time.Hour
	if len(s.timers) > 0 {
		d = max(0, min(s.timers[0].when.sub(now), s.every()))
	}
	s.sleeps(d)
}

// run is the loop: the one goroutine that acts on time. Timers fire with the
// mutex held and never block; what they start (requests, cancellations) begins
// when the mutex is released, outside this loop.
func (c *core) run() {
	defer c.schedule.sleep.Stop()
	for {
		select {
		case <-c.schedule.sleep.C:
		case <-c.stopped:
			return
		}
		c.mu.Lock()
		now := c.clock.look()
		for range 512 { // others want the mutex too
			t := c.schedule.due(now)
			if t == nil {
				break
			}
			t.fire(now)
		}
		c.schedule.rest(now)
		if after := c.leave(); len(after) > 0 {
			go func() { // contexts end here, which may take long
				for _, f := range after {
					f()
				}
			}()
		}
	}
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].when < h[j].when }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	n := len(old) - 1
	t := old[n]
	old[n] = nil
	*h = old[:n]
	t.index = -1
	return t
}
