package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// waiter is one call of Lock or TryLock that has no answer yet.
type waiter struct {
	try     bool
	local   *localName
	number  int64
	since   clock.Instant
	minHold time.Duration // Mutex.MinHold
	maxHold time.Duration // Mutex.MaxHold
	grace   time.Duration // Mutex.Grace
	call    any           // what the host calls it
	listed  bool

	prev, after *waiter
}

// failure is the newest error of the store, if it has not answered since; nil: it has.
func (w *waiter) failure() error {
	if !w.listed || w.local.failingSince == 0 {
		return nil
	}
	return w.local.lastErr
}

type outcome struct {
	turn *turn
	err  error
}

// localWaiters are the waiters of one process for one name, in order of arrival.
type localWaiters struct {
	first, last *waiter
	n           int
	tries       int
}

func (q *localWaiters) push(w *waiter) {
	w.prev, w.after, w.listed = q.last, nil, true
	if q.last != nil {
		q.last.after = w
	} else {
		q.first = w
	}
	q.last = w
	q.n++
	if w.try {
		q.tries++
	}
}

func (q *localWaiters) remove(w *waiter) {
	if w.prev != nil {
		w.prev.after = w.after
	} else {
		q.first = w.after
	}
	if w.after != nil {
		w.after.prev = w.prev
	} else {
		q.last = w.prev
	}
	w.prev, w.after, w.listed = nil, nil, false
	q.n--
	if w.try {
		q.tries--
	}
}

// anyBlocking reports whether anybody here is willing to wait.
func (q *localWaiters) anyBlocking() bool { return q.n > q.tries }

// admit puts a waiter at the end of the local queue.
func (n *localName) admit(w *waiter, now clock.Instant) {
	n.admitted++
	w.local, w.number, w.since = n, n.admitted, now
	n.waiters.push(w)
}

// rejectTries ends the calls that do not wait: the name is held.
func (n *localName) rejectTries(now clock.Instant) {
	n.answerTries(func() error { return n.held(now) })
}

// answerTries answers the calls that do not wait. They stand in front: a TryLock enters
// only an empty local queue.
func (n *localName) answerTries(what func() error) {
	for w := n.waiters.first; w != nil && w.try; w = n.waiters.first {
		n.waiters.remove(w)
		n.p.host.deliver(w, outcome{err: what()})
	}
}
