package holdfast

import (
	"context"
	"time"
)

// caller is one call of Lock or TryLock that has not got its answer.
type caller struct {
	try    bool
	line   *line
	number int64
	since  instant
	least  time.Duration // Mutex.MinHold
	most   time.Duration // Mutex.MaxHold
	ready  chan outcome  // takes one
	listed bool

	before, after *caller
}

// newCaller takes one from the pool, for its channel. The pool is the Client's:
// a channel made inside a testing/synctest bubble must not leave it.
func (c *core) newCaller(try bool) *caller {
	w, ok := c.callers.Get().(*caller)
	if !ok {
		w = &caller{ready: make(chan outcome, 1)}
	}
	w.try = try
	return w
}

// free gives a caller back that stands in no line and was told its outcome.
func (w *caller) free(c *core) {
	*w = caller{ready: w.ready}
	c.callers.Put(w)
}

// await returns what a caller that stands in line gets, or ctx's error when that ends
// first.
func (w *caller) await(ctx context.Context, client *Client) (*Lease, error) {
	var o outcome
	if done := ctx.Done(); done == nil {
		o = <-w.ready // a select would cost a tenth of a turn
	} else {
		select {
		case o = <-w.ready:
		case <-done:
			if u := client.abandon(w); u != nil {
				// Granted in the same moment. Nobody knows of it: give it on.
				go (&Lease{turn: u, client: client}).Release() //nolint:errcheck // it is retried in the background
			}
			return nil, ctx.Err()
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return &Lease{turn: o.turn, client: client}, nil
}

type outcome struct {
	turn *turn
	err  error
}

// callers is the line within one process, in order of arrival.
type callers struct {
	first, last *caller
	n           int
	tries       int
}

func (q *callers) push(w *caller) {
	w.before, w.after, w.listed = q.last, nil, true
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

func (q *callers) remove(w *caller) {
	if w.before != nil {
		w.before.after = w.after
	} else {
		q.first = w.after
	}
	if w.after != nil {
		w.after.before = w.before
	} else {
		q.last = w.before
	}
	w.before, w.after, w.listed = nil, nil, false
	q.n--
	if w.try {
		q.tries--
	}
}

// waits tells whether anybody here is willing to wait.
func (q *callers) waits() bool { return q.n > q.tries }

// admit puts a caller at the end of the line.
func (l *line) admit(w *caller, now instant) {
	l.numbers++
	w.line, w.number, w.since = l, l.numbers, now
	l.callers.push(w)
}

// rejectTries tells those that do not wait that the name is held.
func (l *line) rejectTries(now instant) {
	l.tellTries(func() error { return l.held(now) })
}

// tellTries answers those that do not wait. They stand in front: a TryLock enters
// only a line without callers.
func (l *line) tellTries(what func() error) {
	for w := l.callers.first; w != nil && w.try; w = l.callers.first {
		l.callers.remove(w)
		w.ready <- outcome{err: what()}
	}
}
