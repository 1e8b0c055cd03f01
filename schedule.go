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
	kick   chan struct{} // wakes the loop: something earlier was set
	wakes  instant       // when the loop will look next
	held   int           // tenures that are held
	hurry  instant       // until then it looks as if one were
}

// tick and slowTick are how often the loop looks while anything is scheduled: a
// machine that was suspended slept through its timers, and a holder must know
// within 250 ms of waking up. Who only waits has time.
const (
	tick     = 200 * time.Millisecond
	slowTick = 2 * time.Second
)

func newSchedule() schedule { return schedule{kick: make(chan struct{}, 1)} }

func (s *schedule) set(t *timer, when instant) {
	if t.index >= 0 {
		if t.when == when {
			return
		}
		t.when = when
		heap.Fix(&s.timers, t.index)
	} else {
		t.when = when
		heap.Push(&s.timers, t)
	}
	s.look(when)
}

// look makes the loop look then at the latest.
func (s *schedule) look(when instant) {
	if when < s.wakes {
		s.wakes = when
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// hold notes one more tenure that is held. Who locks again and again does not wake
// the loop each time: it goes on looking for a while.
func (s *schedule) hold(now instant) {
	s.held++
	s.hurry = now.add(slowTick)
	s.look(now.add(tick))
}

// every is how long the loop sleeps at most.
func (s *schedule) every(now instant) time.Duration {
	if s.held > 0 || now < s.hurry {
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

// next says how long the loop may sleep, and notes that it will.
func (s *schedule) next(now instant) time.Duration {
	if len(s.timers) == 0 {
		s.wakes = 1<<63 - 1
		return time.Hour
	}
	d := max(0, min(s.timers[0].when.sub(now), s.every(now)))
	s.wakes = now.add(d)
	return d
}

// run is the loop: the one goroutine that acts on time. Timers fire with the
// mutex held and never block; what they start (requests, cancellations) begins
// when the mutex is released, outside this loop.
func (c *core) run() {
	sleep := time.NewTimer(0)
	defer sleep.Stop()
	for {
		select {
		case <-sleep.C:
		case <-c.schedule.kick:
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
		d := c.schedule.next(now)
		if after := c.leave(); len(after) > 0 {
			go func() { // contexts end here, which may take long
				for _, f := range after {
					f()
				}
			}()
		}
		sleep.Reset(d)
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
