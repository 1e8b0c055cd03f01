package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/machine"
)

// Lock has the arguments of Acquire.
type Lock struct {
	Name      string
	Kind      *machine.Kind // nil: the kind of the Client, see [machine.Kind]
	Try       bool          // do not wait for a holder
	Limits    lifetime.Limits
	Leftovers *Leftovers // gets what the call leaves in Redis; nil: Acquire waits until it is removed
}

// pending is a waiting call: a waiter of the Client, and a channel for its one outcome. Release
// uses only the channel.
type pending struct {
	machine.LocalWaiter
	ready chan machine.Outcome
}

// newPending makes a pending call for the pool of an Engine, which reuses the channels. Each engine has
// its own pool: a channel made inside a testing/synctest bubble must not leave it.
func newPending() any {
	w := &pending{ready: make(chan machine.Outcome, 1)}
	w.Call = w
	return w
}

// reuse takes back a pending call that has left the local queue and has its outcome.
func (e *Engine) reuse(w *pending) {
	w.LocalWaiter = machine.LocalWaiter{Call: w}
	e.waiters.Put(w)
}

// Acquire asks for a name, and waits until it has a turn or ctx ends.
func (e *Engine) Acquire(ctx context.Context, l Lock) (*machine.Turn, error) {
	w := e.waiters.Get().(*pending)
	defer e.reuse(w)
	w.Try, w.Limits = l.Try, l.Limits
	noCancel := ctx.Done() == nil
	e.mu.Lock()
	now := e.clock.Now()
	lock, err := e.client.Enter(l.Name, l.Kind, &w.LocalWaiter, now)
	if err != nil {
		e.unlock()
		return nil, err
	}
	e.unlockAndPerform(noCancel, lock, now)
	var o machine.Outcome
	if noCancel {
		o = <-w.ready // a select would cost a tenth of the time of a turn
	} else {
		select {
		case o = <-w.ready:
		case <-ctx.Done():
			return nil, e.giveUp(ctx, w, l.Leftovers)
		}
	}
	return o.Turn, o.Err
}

// giveUp ends a call whose context has ended. What the call left in Redis is added to all, or if that
// is nil, giveUp waits until it is removed.
func (e *Engine) giveUp(ctx context.Context, w *pending, all *Leftovers) error {
	left, err := e.abandon(ctx, w)
	if all != nil {
		*all = append(*all, left)
	} else {
		e.AwaitLeftovers(Leftovers{left})
	}
	return err
}

// announceWait is how long a leader waits at most for the answer to its announcement. After that
// it leads without the answer.
const announceWait = 250 * time.Millisecond

// Announce announces the term of an Election, unless nobody can be notified, and makes the Client repeat
// that. It waits for the first answer, at most announceWait.
func (e *Engine) Announce(ctx context.Context, u *machine.Turn) {
	if !u.Announces() {
		return
	}
	e.mu.Lock()
	announced := e.whenCleaned(e.client.Elected(u, e.clock.Now()))
	e.unlock()
	select {
	case <-announced:
	case <-time.After(announceWait):
	case <-ctx.Done():
	case <-e.Stopped:
	}
}

// AcquireTogether asks for several names by one script, and waits until it has their turns or ctx
// ends. With an error it also returns the turns that it got; left gets what else the call leaves
// in Redis. [machine.ErrOneByOne] means that one script cannot lock these names.
func (e *Engine) AcquireTogether(ctx context.Context, names []string, try bool, left *Leftovers) (turns []*machine.Turn, err error) {
	done := ctx.Done()
	waiters, err := e.enterAll(names, try, done == nil)
	if err != nil {
		return nil, err
	}
	for _, w := range waiters {
		var o machine.Outcome
		select {
		case o = <-w.ready:
		case <-done:
			o.Err = e.giveUp(ctx, w, left)
		}
		e.reuse(w)
		if o.Turn != nil {
			turns = append(turns, o.Turn)
		}
		if err == nil || errors.Is(err, machine.ErrOneByOne) && o.Err != nil {
			err = o.Err
		}
	}
	return turns, err
}

// enterAll puts a waiter with Try into the local queue of each name, and asks for all names at
// once. If try is set and a name is in use in this Client, it returns a *machine.Held.
func (e *Engine) enterAll(names []string, try, noCancel bool) ([]*pending, error) {
	together := e.Queue && len(names) > 1
	all := make([]*keyspace.Keys, len(names))
	for i, name := range names {
		k, err := e.keysOf(name)
		if err != nil {
			return nil, err
		}
		all[i] = k
		together = together && (!e.Sharded || keyspace.Slot(k.Lock()) == keyspace.Slot(all[0].Lock()))
	}
	e.mu.Lock()
	now := e.clock.Now()
	if err := e.client.Unused(names, try, now); err != nil || !together {
		e.unlock()
		return nil, cmp.Or(err, machine.ErrOneByOne)
	}
	waiters := make([]*pending, len(names))
	entering := make([]*machine.LocalWaiter, len(names))
	for i := range names {
		waiters[i] = e.waiters.Get().(*pending)
		waiters[i].Try = true
		entering[i] = &waiters[i].LocalWaiter
	}
	g := e.client.EnterTogether(names, all, entering, now)
	e.unlockAndPerform(noCancel, g.Asking, now)
	return waiters, nil
}

// abandon removes a waiter whose context has ended. It returns what the call left in Redis, or
// nil, and the error of the call, a *machine.Waited. If the waiter has just got a turn, abandon releases
// the turn.
func (e *Engine) abandon(ctx context.Context, w *pending) (*leftover, error) {
	e.mu.Lock()
	defer e.unlock()
	now := e.clock.Now()
	err := w.Waited(now)
	err.Ended, err.Cause = ctx.Err(), context.Cause(ctx)
	select {
	case o := <-w.ready:
		if o.Turn == nil {
			err.Rejected(o.Err)
			return nil, err
		}
		o.Turn.Tenure.Waive() // no work was done under it. Not later: Close may be the next to get the mutex
		return inBackground(func() error { return e.Release(o.Turn, false) }), err
	default:
	}
	t := e.client.Abandon(&w.LocalWaiter, now)
	if t == nil {
		return nil, err
	}
	r := &leftover{t, e.whenDone(t)}
	e.client.AwaitLeftover(t)
	return r, err
}

// Leftovers list what abandoned calls left in Redis. It is being removed in the background.
type Leftovers []*leftover

// leftover is what one abandoned call left in Redis.
type leftover struct {
	tenure *machine.Tenure // Redis may have its id; nil: a lease is being released
	gone   <-chan struct{} // closed when it is removed
}

// Add releases a lease in the background.
func (r *Leftovers) Add(release func() error) { *r = append(*r, inBackground(release)) }

func inBackground(release func() error) *leftover {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = release()
	}()
	return &leftover{gone: gone}
}

// AwaitLeftovers waits until all of these are removed, at most leftoverPatience. It skips those that
// are nil.
func (e *Engine) AwaitLeftovers(all Leftovers) {
	all = slices.DeleteFunc(all, func(r *leftover) bool { return r == nil })
	if len(all) == 0 {
		return
	}
	t := time.NewTimer(leftoverPatience)
	defer t.Stop()
	for _, r := range all {
		select {
		case <-r.gone:
			continue
		case <-t.C:
		case <-e.Stopped:
		}
		break
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range all {
		if r.tenure != nil {
			e.client.DropLeftover(r.tenure)
			delete(e.waits, r.tenure)
		}
	}
}
