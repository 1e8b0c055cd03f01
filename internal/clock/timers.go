package clock

import (
	"container/heap"
	"time"
)

// Timer is a place in [Timers], or in a [Schedule]. There is no goroutine and no system timer
// for each. One that is set must not be copied.
type Timer struct {
	Fire func(now Instant) // called by their user, when it is due; set it before Set

	when  Instant
	place int // in the heap, from 1 on; 0: not set
}

// When returns the time for which t was last set.
func (t *Timer) When() Instant { return t.when }

// Backoff returns the pause that follows this one, for one of n things that are tried again: however
// many they are after an outage, some hundred are tried per second.
func Backoff(pause time.Duration, n int) time.Duration {
	return min(2*pause, 5*time.Second+time.Duration(n)*2*time.Millisecond)
}

// Timers is a heap of timers that nothing wakes. Its user asks when the first is due, and
// then fires what is due. The zero value is empty. It is not safe for concurrent use.
type Timers struct{ heap timerHeap }

// Set makes t due at when, also if it was set for another time before.
func (s *Timers) Set(t *Timer, when Instant) {
	switch {
	case t.place == 0:
		t.when = when
		heap.Push(&s.heap, t)
	case t.when != when:
		t.when = when
		heap.Fix(&s.heap, t.place-1)
	}
}

// Stop takes t out. It does nothing if t is not set.
func (s *Timers) Stop(t *Timer) {
	if t.place > 0 {
		heap.Remove(&s.heap, t.place-1)
	}
}

// Next returns when the first timer is due, or Never.
func (s *Timers) Next() Instant {
	if len(s.heap) == 0 {
		return Never
	}
	return s.heap[0].when
}

// Due takes out the first timer that is due, and returns nil if none is.
func (s *Timers) Due(now Instant) *Timer {
	if len(s.heap) == 0 || s.heap[0].when > now {
		return nil
	}
	return heap.Pop(&s.heap).(*Timer)
}

type timerHeap []*Timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].when < h[j].when }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *timerHeap) Push(x any) {
	t := x.(*Timer)
	*h = append(*h, t)
	t.place = len(*h)
}

func (h *timerHeap) Pop() any {
	old := *h
	n := len(old) - 1
	t := old[n]
	old[n] = nil
	*h = old[:n]
	t.place = 0
	return t
}

// Schedule is the heap of the timers of one Client, with the one system timer that wakes
// its loop. The loop waits for C, then fires what is Due, then calls Rest. The mutex of
// the Client protects a Schedule.
type Schedule struct {
	Held int // leases that are held: with any, the loop wakes up five times a second

	timers Timers
	sleep  *time.Timer // wakes the loop
	until  time.Time   // when it will, by a clock that stands still in a suspend as it does
	wakes  Instant     // the same by our clock, as computed at read
	read   Instant
}

// tick and slowTick are how often the loop looks while anything is scheduled: a
// machine that was suspended slept through its timers, and a holder must know
// within 250 ms of waking up. A mere waiter has time.
const (
	tick     = 200 * time.Millisecond
	slowTick = 2 * time.Second
)

// NewSchedule returns a Schedule that wakes its loop at once.
func NewSchedule() Schedule { return Schedule{sleep: time.NewTimer(0)} }

// C receives when the loop is to look.
func (s *Schedule) C() <-chan time.Time { return s.sleep.C }

// Wakes returns when the loop will look next, by Go's time.
func (s *Schedule) Wakes() time.Time { return s.until }

// Close stops the system timer. Nothing wakes the loop afterwards.
func (s *Schedule) Close() { s.sleep.Stop() }

// Set makes t due at when, also if it was set for another time before, and makes the loop look then
// at the latest. After a suspend wakes is too early by the length of the suspend, because the loop
// slept on. So Set trusts wakes only for the time by which [Clock.Now] may be wrong anyway: no suspend
// in that time is longer. Then it reads Go's clock again. Reading it at every call would cost a local
// turn a tenth of its time.
func (s *Schedule) Set(t *Timer, when, now Instant) {
	s.timers.Set(t, when)
	if now-s.read >= nowError {
		s.wakes, s.read = now.Add(time.Until(s.until)), now
	}
	if d := max(0, min(when.Sub(now), s.every())); s.wakes.Sub(now) > d {
		s.sleeps(d, now)
	}
}

func (s *Schedule) sleeps(d time.Duration, now Instant) {
	s.until = time.Now().Add(d)
	s.wakes, s.read = now.Add(d), now
	s.sleep.Reset(d)
}

// every is how long the loop sleeps at most.
func (s *Schedule) every() time.Duration {
	if s.Held > 0 {
		return tick
	}
	return slowTick
}

// Stop takes t out. It does nothing if t is not set.
func (s *Schedule) Stop(t *Timer) { s.timers.Stop(t) }

// Due takes out the first timer that is due, and returns nil if none is.
func (s *Schedule) Due(now Instant) *Timer { return s.timers.Due(now) }

// Relax lets the loop sleep on if nothing is held any more: what was to wake it may be
// gone.
func (s *Schedule) Relax(now Instant) {
	if s.Held == 0 {
		s.Rest(now)
	}
}

// Rest lets the loop sleep until the first timer is due. While any is set it sleeps at
// most 2 s, and at most 200 ms while anything is held.
func (s *Schedule) Rest(now Instant) {
	d := time.Hour
	if next := s.timers.Next(); next < Never {
		d = max(0, min(next.Sub(now), s.every()))
	}
	s.sleeps(d, now)
}
