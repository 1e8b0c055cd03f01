package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Lock is what a call of Acquire asks for.
type Lock struct {
	Name                    string
	Kind                    *machine.Kind // nil: that of most calls, see [machine.Kind]
	Try                     bool          // do not wait for a holder
	MinHold, MaxHold, Grace time.Duration // see [machine.Waiter]
	Removals                *Removals     // gets what the call leaves in Redis; nil: Acquire waits for that
}

// Acquire asks for a name, and waits for a turn, or until ctx ends. A term is announced then.
func (e *Engine) Acquire(ctx context.Context, l Lock) (*machine.Turn, error) {
	w := e.waiters.get(l.Try)
	defer e.waiters.put(w)
	w.MinHold, w.MaxHold, w.Grace = l.MinHold, l.MaxHold, l.Grace
	blocking := ctx.Done() == nil
	e.mu.Lock()
	now := e.clock.Now()
	lock, err := e.process.Enter(l.Name, l.Kind, &w.Waiter, now)
	if err != nil {
		e.unlock()
		return nil, err
	}
	e.unlockAndPerform(blocking, lock, now)
	var o machine.Outcome
	if blocking {
		o = <-w.ready // a select would cost a tenth of a turn
	} else {
		select {
		case o = <-w.ready:
		case <-ctx.Done():
			left, err := e.abandon(w, ctx.Err())
			if l.Removals != nil {
				*l.Removals = append(*l.Removals, left)
			} else {
				e.AwaitRemovals(Removals{left})
			}
			return nil, err
		}
	}
	if l.Kind != nil && o.Turn != nil && o.Turn.Announces() {
		e.announce(ctx, o.Turn)
	}
	return o.Turn, o.Err
}

// announceWait is how long a leader waits until its term is known to others. It
// leads also when that takes longer.
const announceWait = 250 * time.Millisecond

// announce announces a term, now and again.
func (e *Engine) announce(ctx context.Context, u *machine.Turn) {
	e.mu.Lock()
	announced := e.whenCleaned(e.process.Elected(u, e.clock.Now()))
	e.unlock()
	select {
	case <-announced:
	case <-time.After(announceWait):
	case <-ctx.Done():
	case <-e.Stopped:
	}
}

// AcquireTogether asks for several names by one script, and waits for their turns, or until ctx
// ends. With an error it also returns the turns that it has got; left gets what else it leaves in
// Redis. [machine.ErrOneByOne]: that can't be, and it has asked nothing.
func (e *Engine) AcquireTogether(ctx context.Context, names []string, try bool, left *Removals) (turns []*machine.Turn, err error) {
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
			o.Err = ctx.Err()
			removal, _ := e.abandon(w, o.Err)
			*left = append(*left, removal)
		}
		e.waiters.put(w)
		if o.Turn != nil {
			turns = append(turns, o.Turn)
		}
		if err == nil || errors.Is(err, machine.ErrOneByOne) && o.Err != nil {
			err = o.Err
		}
	}
	return turns, err
}

// enterAll puts a caller that does not wait into the local queue of each name, and
// asks for all of them at once. A try fails here if a name is in use in this process.
func (e *Engine) enterAll(names []string, try, blocking bool) ([]*pending, error) {
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
	if err := e.process.Unused(names, try, now); err != nil || !together {
		e.unlock()
		return nil, cmp.Or(err, machine.ErrOneByOne)
	}
	waiters := make([]*pending, len(names))
	entering := make([]*machine.Waiter, len(names))
	for i := range names {
		waiters[i] = e.waiters.get(true)
		entering[i] = &waiters[i].Waiter
	}
	g := e.process.EnterTogether(names, all, entering, now)
	e.unlockAndPerform(blocking, g.Asking, now)
	return waiters, nil
}

// abandon removes a waiter whose call does not wait any longer, because its context has ended. It
// returns what is left of this call in Redis, and the error of the call. A turn that it was given in
// the same moment is given back.
func (e *Engine) abandon(w *pending, ended error) (*removal, error) {
	e.mu.Lock()
	defer e.unlock()
	err := ended
	if failure := w.Failure(); failure != nil && ended == context.DeadlineExceeded { //nolint:errorlint // that very one
		err = wire.Failure(w.Local.Name, wire.ErrUnreachable, &LateFailure{ended, failure})
	}
	select {
	case o := <-w.ready:
		if o.Turn == nil {
			return nil, err
		}
		o.Turn.Waive() // nothing was done under it. At once: the next that gets the mutex may be Close
		return inBackground(func() error { return e.Release(o.Turn, false) }), err
	default:
	}
	t := e.process.Abandon(&w.Waiter, e.clock.Now())
	if t == nil {
		return nil, err
	}
	r := &removal{t, e.whenDone(t)}
	e.process.AwaitRemoval(t)
	return r, err
}

// LateFailure is why a call got nothing until its deadline: the store had failed, and did not answer since.
type LateFailure struct{ Ended, Failure error }

func (f *LateFailure) Error() string { return f.Failure.Error() }

// Removals are what calls that go no further have left in Redis.
type Removals []*removal

// removal is what a call whose context has ended waits for, for a moment.
type removal struct {
	tenure *machine.Tenure // whose id Redis may know; nil: a lease that is being released
	gone   <-chan struct{}
}

// Add releases a lease in the background: what is not answered is repeated.
func (r *Removals) Add(release func() error) { *r = append(*r, inBackground(release)) }

func inBackground(release func() error) *removal {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = release()
	}()
	return &removal{gone: gone}
}

// AwaitRemovals waits for all of these, but no longer than longestRemoval. nil: for nothing.
func (e *Engine) AwaitRemovals(all Removals) {
	all = slices.DeleteFunc(all, func(r *removal) bool { return r == nil })
	if len(all) == 0 {
		return
	}
	t := time.NewTimer(longestRemoval)
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
			e.process.ForgetRemoval(r.tenure)
			delete(e.waits, r.tenure)
		}
	}
}
