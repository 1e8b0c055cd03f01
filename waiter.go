package holdfast

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// waiter is one call of Lock or TryLock that has no answer yet.
type waiter struct {
	try      bool
	local    *localName
	number   int64
	since    clock.Instant
	minHold  time.Duration // Mutex.MinHold
	maxHold  time.Duration // Mutex.MaxHold
	grace    time.Duration // Mutex.Grace
	ready    chan outcome  // takes one
	listed   bool
	removals *[]*idRemoval // see Mutex.removals

	prev, next *waiter
}

// newWaiter takes one from the pool, for its channel. The pool is the Client's:
// a channel made inside a testing/synctest bubble must not leave it.
func (c *core) newWaiter(try bool) *waiter {
	w, ok := c.waiterPool.Get().(*waiter)
	if !ok {
		w = &waiter{ready: make(chan outcome, 1)}
	}
	w.try = try
	return w
}

// recycle gives a waiter back to the pool. It has left the local queue and has its outcome.
func (w *waiter) recycle(c *core) {
	*w = waiter{ready: w.ready}
	c.waiterPool.Put(w)
}

// await returns the outcome of a waiter in the local queue, or ctx's error when that ends
// first.
func (w *waiter) await(ctx context.Context, client *Client) (*Lease, error) {
	var o outcome
	if done := ctx.Done(); done == nil {
		o = <-w.ready // a select would cost a tenth of a turn
	} else {
		select {
		case o = <-w.ready:
		case <-done:
			err := client.waitError(w, ctx.Err())
			left := client.removalOf(client.abandon(w))
			if w.removals == nil {
				client.awaitRemovals(left)
			} else {
				*w.removals = append(*w.removals, left)
			}
			return nil, err
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return &Lease{turn: o.turn, client: client}, nil
}

// waitError is the error of a call whose context ended with ended. After a deadline
// it wraps the newest failure of the store too, unless the store has answered since.
func (c *core) waitError(w *waiter, ended error) error {
	c.mu.Lock()
	defer c.unlock()
	if ended != context.DeadlineExceeded || !w.listed || w.local.failingSince == 0 || w.local.lastErr == nil { //nolint:errorlint // that very one
		return ended
	}
	return wire.Failure(w.local.name, ErrUnreachable, fmt.Errorf("%w: %w", ended, w.local.lastErr))
}

// longestRemoval is how long a call whose context has ended waits, in all, until Redis
// knows no more of it. Most programs that end with it leave nothing behind then.
const longestRemoval = 20 * time.Millisecond

// idRemoval is what a call whose context has ended waits for, for a moment.
type idRemoval struct {
	tenure *tenure // whose id Redis may know; nil: a lease that is being released
	gone   chan struct{}
}

// removalOf takes what abandon returned. A turn that came in the same moment has no user:
// it is released.
func (c *Client) removalOf(u *turn, left *idRemoval) *idRemoval {
	if u == nil {
		return left
	}
	return inBackground((&Lease{turn: u, client: c}).Release) // what is not answered is repeated
}

func inBackground(release func() error) *idRemoval {
	g := &idRemoval{gone: make(chan struct{})}
	go func() {
		defer close(g.gone)
		_ = release()
	}()
	return g
}

// awaitRemovals waits for all of these, but no longer than longestRemoval. nil: for nothing.
func (c *core) awaitRemovals(all ...*idRemoval) {
	all = slices.DeleteFunc(all, func(g *idRemoval) bool { return g == nil })
	if len(all) == 0 {
		return
	}
	t := time.NewTimer(longestRemoval)
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
			delete(c.removals, g.tenure.id)
		}
	}
}

// newRemoval waits for a tenure that was given up before it was granted. The mutex is held.
func (c *core) newRemoval(t *tenure) *idRemoval {
	g := &idRemoval{t, make(chan struct{})}
	c.removals[t.id] = g
	c.removalProgress(t.id)
	return g
}

// removalProgress ends it when all locks of the id have been answered and its cancel, too.
// Each of these calls it.
func (c *core) removalProgress(id string) {
	g := c.removals[id]
	if g == nil || g.tenure.phase < past || g.tenure.openLocks > 0 {
		return
	}
	if e := c.cancels.Of(id); e != nil && !e.confirmed {
		return
	}
	delete(c.removals, id)
	close(g.gone)
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
	w.prev, w.next, w.listed = q.last, nil, true
	if q.last != nil {
		q.last.next = w
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
		w.prev.next = w.next
	} else {
		q.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.last = w.prev
	}
	w.prev, w.next, w.listed = nil, nil, false
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
		w.ready <- outcome{err: what()}
	}
}
