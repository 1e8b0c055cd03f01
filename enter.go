package holdfast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// acquire asks for a name, and waits.
func (c *core) acquire(ctx context.Context, client *Client, name string, k *machine.Kind, w *pending) (*Lease, error) {
	defer w.recycle(c)
	if err := c.enter(name, k, w, ctx.Done() == nil); err != nil {
		return nil, err
	}
	return w.await(ctx, client)
}

// enter is Process.Enter. If the call blocks until its answer, it may send the request itself.
func (c *core) enter(name string, k *machine.Kind, w *pending, blocking bool) error {
	c.mu.Lock()
	now := c.clock.Now()
	lock, err := c.process.Enter(name, k, &w.Waiter, now)
	if err != nil {
		c.unlock()
		return publicError(err)
	}
	c.unlockAndPerform(blocking, lock, now)
	return nil
}

// abandon removes a waiter whose call does not wait any longer. It returns
// the turn that the caller was given in the same moment, if any, else what is left
// of this call in Redis; nil: nothing, or on a quorum what is undone in the background.
func (c *core) abandon(w *pending) (*machine.Turn, *idRemoval) {
	c.mu.Lock()
	defer c.unlock()
	select {
	case o := <-w.ready:
		if o.Turn != nil {
			o.Turn.Waive() // nothing was done under it
		}
		return o.Turn, nil
	default:
	}
	t := c.process.Abandon(&w.Waiter, c.clock.Now())
	if t == nil {
		return nil, nil
	}
	g := &idRemoval{t, c.whenDone(t)}
	c.process.AwaitRemoval(t)
	return nil, g
}

// acquireShared asks for a part of a name's capacity. It blocks and fails as
// Mutex.Lock does.
func (c *core) acquireShared(ctx context.Context, client *Client, name string, k *machine.Kind, maxHold, grace time.Duration, try bool) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if maxHold < 0 {
		panic(fmt.Sprintf("holdfast: MaxHold of %s is %v: it must not be negative", name, maxHold))
	}
	checkGrace(name, grace, c.options.TTL)
	if held := c.heldUnder(ctx, name); held != nil && c.err(held) == nil && !try { // a try waits for nobody
		return nil, ErrDeadlock
	}
	w := c.newWaiter(try)
	w.MaxHold, w.Grace = maxHold, grace
	return c.acquire(ctx, client, name, k, w)
}

// enterAll puts a caller that does not wait into the local queue of each name, and
// asks for all of them at once. Where that can't be, it returns ErrOneByOne and has asked
// nothing. A try fails here if a name is in use in this process.
func (c *core) enterAll(names []string, try, blocking bool) ([]*pending, error) {
	together := c.process.Queue && len(names) > 1
	all := make([]*keyspace.Keys, len(names))
	for i, name := range names {
		k, err := keysOf(c.options.Prefix, name)
		if err != nil {
			return nil, err
		}
		all[i] = k
		together = together && (!c.store.Sharded() || keyspace.Slot(k.Lock()) == keyspace.Slot(all[0].Lock()))
	}
	c.mu.Lock()
	now := c.clock.Now()
	if err := c.process.Unused(names, try, now); err != nil || !together {
		c.unlock()
		return nil, cmp.Or(publicError(err), machine.ErrOneByOne)
	}
	waiters := make([]*pending, len(names))
	entering := make([]*machine.Waiter, len(names))
	for i := range names {
		waiters[i] = c.newWaiter(true)
		entering[i] = &waiters[i].Waiter
	}
	g := c.process.EnterTogether(names, all, entering, now)
	c.unlockAndPerform(blocking, g.Asking, now)
	return waiters, nil
}

// newWaiter takes one from the pool, for its channel. The pool is the Client's:
// a channel made inside a testing/synctest bubble must not leave it.
func (c *core) newWaiter(try bool) *pending {
	w, ok := c.waiterPool.Get().(*pending)
	if !ok {
		w = &pending{ready: make(chan machine.Outcome, 1), asked: make(chan error, 1)}
		w.Call = w
	}
	w.Try = try
	return w
}

// pending is a call that waits: a waiter of the process, and its channels.
type pending struct {
	machine.Waiter
	ready    chan machine.Outcome // takes one
	asked    chan error           // the same: how a release or a question went
	removals *[]*idRemoval        // see Mutex.removals
}

// recycle gives a waiter back to the pool. It has left the local queue and has its outcome.
func (w *pending) recycle(c *core) {
	w.Waiter, w.removals = machine.Waiter{Call: w}, nil
	c.waiterPool.Put(w)
}

// await returns the outcome of a waiter in the local queue, or ctx's error when that ends
// first.
func (w *pending) await(ctx context.Context, client *Client) (*Lease, error) {
	var o machine.Outcome
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
	if o.Err != nil {
		return nil, o.Err
	}
	return &Lease{turn: o.Turn, client: client}, nil
}

// waitError is the error of a call whose context ended with ended. After a deadline
// it wraps the newest failure of the store too, unless the store has answered since.
func (c *core) waitError(w *pending, ended error) error {
	c.mu.Lock()
	defer c.unlock()
	failure := w.Failure()
	if ended != context.DeadlineExceeded || failure == nil { //nolint:errorlint // that very one
		return ended
	}
	return wire.Failure(w.Local.Name, ErrUnreachable, fmt.Errorf("%w: %w", ended, publicError(failure)))
}

// idRemoval is what a call whose context has ended waits for, for a moment.
type idRemoval struct {
	tenure *machine.Tenure // whose id Redis may know; nil: a lease that is being released
	gone   <-chan struct{}
}

// removalOf takes what abandon returned. A turn that came in the same moment has no user:
// it is released.
func (c *Client) removalOf(u *machine.Turn, left *idRemoval) *idRemoval {
	if u == nil {
		return left
	}
	return inBackground((&Lease{turn: u, client: c}).Release) // what is not answered is repeated
}

func inBackground(release func() error) *idRemoval {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = release()
	}()
	return &idRemoval{gone: gone}
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
			c.process.ForgetRemoval(g.tenure)
			delete(c.waits, g.tenure)
		}
	}
}

// held is the error of a TryLock under the turn's own lease: it waits for no other, so it is
// no deadlock.
func (c *core) held(u *machine.Turn) error {
	c.mu.Lock()
	defer c.unlock()
	return publicError(u.Local.Held(c.clock.Now()))
}

// longestRemoval is how long a call whose context has ended waits, in all, until Redis
// knows no more of it. Most programs that end with it leave nothing behind then.
const longestRemoval = 20 * time.Millisecond
