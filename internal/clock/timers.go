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
