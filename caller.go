package holdfast

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// caller is one call of Lock or TryLock that has not got its answer.
type caller struct {
	try    bool
	line   *line
	number int64
	since  clock.Instant
	least  time.Duration // Mutex.MinHold
	most   time.Duration // Mutex.MaxHold
	grace  time.Duration // Mutex.Grace
	ready  chan outcome  // takes one
	listed bool
	left   *[]*goodbye // see Mutex.left

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
			err := client.waitedInVain(w, ctx.Err())
			left := client.goneWith(client.abandon(w))
			if w.left == nil {
				client.awaitGone(left)
			} else {
				*w.left = append(*w.left, left)
			}
			return nil, err
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return &Lease{turn: o.turn, client: client}, nil
}

// waitedInVain is the error of a call whose context ended with ended. After a deadline
// it wraps the newest failure of the store too, unless the store has answered since.
func (c *core) waitedInVain(w *caller, ended error) error {
	c.mu.Lock()
	defer c.unlock()
	if ended != context.DeadlineExceeded || !w.listed || w.line.failing == 0 || w.line.trouble == nil { //nolint:errorlint // that very one
		return ended
	}
	return wire.Failure(w.line.name, ErrUnreachable, fmt.Errorf("%w: %w", ended, w.line.trouble))
}

// longestGoodbye is how long a call whose context has ended waits, in all, until Redis
// knows no more of it. Most programs that end with it leave nothing behind then.
const longestGoodbye = 20 * time.Millisecond

// goodbye is what a call whose context has ended waits for, for a moment.
type goodbye struct {
	tenure *tenure // whose id Redis may know; nil: a lease that is being released
	gone   chan struct{}
}

// goneWith gives on what abandon returned: a turn that came in the same moment, of which
// nobody knows.
func (c *Client) goneWith(u *turn, left *goodbye) *goodbye {
	if u == nil {
		return left
	}
	return inBackground((&Lease{turn: u, client: c}).Release) // what is not answered is repeated
}

func inBackground(release func() error) *goodbye {
	g := &goodbye{gone: make(chan struct{})}
	go func() {
		defer close(g.gone)
		_ = release()
	}()
	return g
}

// awaitGone waits for all of these, but no longer than longestGoodbye. nil: for nothing.
func (c *core) awaitGone(all ...*goodbye) {
	all = slices.DeleteFunc(all, func(g *goodbye) bool { return g == nil })
	if len(all) == 0 {
		return
	}
	t := time.NewTimer(longestGoodbye)
	defer t.Stop()
	for _, g := range all {
		select {
		case <-g.gone:
			continue
		case <-t.C:
		case <-c.stopped:
		}
		break
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range all {
		if g.tenure != nil {
			delete(c.goodbyes, g.tenure.id)
		}
	}
}

// goodbye waits for a tenure that was given up before it was granted. The mutex is held.
func (c *core) goodbye(t *tenure) *goodbye {
	g := &goodbye{t, make(chan struct{})}
	c.goodbyes[t.id] = g
	c.saidGoodbye(t.id)
	return g
}

// saidGoodbye ends it when all locks of the id have been answered and its cancel, too.
// Whatever may be the last of these calls it.
func (c *core) saidGoodbye(id string) {
	g := c.goodbyes[id]
	if g == nil || g.tenure.phase < past || g.tenure.open > 0 {
		return
	}
	if e := c.cancels.Of(id); e != nil && !e.heard {
		return
	}
	delete(c.goodbyes, id)
	close(g.gone)
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

// waits reports whether anybody here is willing to wait.
func (q *callers) waits() bool { return q.n > q.tries }

// admit puts a caller at the end of the line.
func (l *line) admit(w *caller, now clock.Instant) {
	l.numbers++
	w.line, w.number, w.since = l, l.numbers, now
	l.callers.push(w)
}

// rejectTries tells those that do not wait that the name is held.
func (l *line) rejectTries(now clock.Instant) {
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
