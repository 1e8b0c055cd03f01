package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// Waiter is one call of Lock or TryLock that has no answer yet.
type Waiter struct {
	Try     bool
	Local   *Name
	number  int64
	since   clock.Instant
	MinHold time.Duration // Mutex.MinHold
	MaxHold time.Duration // Mutex.MaxHold
	Grace   time.Duration // Mutex.Grace
	Call    any           // what the host calls it
	listed  bool

	prev, after *Waiter
}

// Failure is the newest error of the store, if it has not answered since; nil: it has.
func (w *Waiter) Failure() error {
	if !w.listed || w.Local.failingSince == 0 {
		return nil
	}
	return w.Local.lastErr
}

type Outcome struct {
	Turn *Turn
	Err  error
}

// localWaiters are the waiters of one process for one name, in order of arrival.
type localWaiters struct {
	first, last *Waiter
	n           int
	tries       int
}

func (q *localWaiters) push(w *Waiter) {
	w.prev, w.after, w.listed = q.last, nil, true
	if q.last != nil {
		q.last.after = w
	} else {
		q.first = w
	}
	q.last = w
	q.n++
	if w.Try {
		q.tries++
	}
}

func (q *localWaiters) remove(w *Waiter) {
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
	if w.Try {
		q.tries--
	}
}

// anyBlocking reports whether anybody here is willing to wait.
func (q *localWaiters) anyBlocking() bool { return q.n > q.tries }

// admit puts a waiter at the end of the local queue.
func (n *Name) admit(w *Waiter, now clock.Instant) {
	n.admitted++
	w.Local, w.number, w.since = n, n.admitted, now
	n.waiters.push(w)
}

// rejectTries ends the calls that do not wait: the name is held.
func (n *Name) rejectTries(now clock.Instant) {
	n.answerTries(func() error { return n.Held(now) })
}

// answerTries answers the calls that do not wait. They stand in front: a TryLock enters
// only an empty local queue.
func (n *Name) answerTries(what func() error) {
	for w := n.waiters.first; w != nil && w.Try; w = n.waiters.first {
		n.waiters.remove(w)
		n.P.Host.Deliver(w, Outcome{Err: what()})
	}
}
