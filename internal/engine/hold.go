package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Err returns nil while a turn lasts, and then wire.ErrReleased or a *machine.Lost. It needs no mutex.
func (e *Engine) Err(u *machine.Turn) error {
	if ended := u.Ended.Load(); ended != nil {
		return ended.Err
	}
	if cause := u.Over(e.clock.Exact()); cause != "" {
		return &machine.Lost{Name: u.Name.Text, Token: u.Token, Cause: cause}
	}
	return nil
}

// reason returns the error of an ending; nil if ended is nil.
func reason(ended *machine.Ending) error {
	if ended == nil {
		return nil
	}
	return ended.Err
}

// Remaining returns the time until the holder must stop.
func (e *Engine) Remaining(u *machine.Turn) time.Duration { return u.Ends().Sub(e.clock.Exact()) }

// Held returns the *machine.Held for a TryLock under the context of the lease that has the turn.
func (e *Engine) Held(u *machine.Turn) error {
	e.mu.Lock()
	defer e.unlock()
	return u.Name.Held(e.clock.Now())
}

// watch returns the watch of a turn that has not ended.
func (e *Engine) watch(u *machine.Turn) *watch {
	w := e.watched[u]
	if w == nil {
		w = &watch{enders: make(map[Ender]struct{})}
		e.watched[u] = w
	}
	return w
}

// Done returns a channel that is closed when a turn ends. Until then the engine refers to keep,
// so that it is not garbage-collected.
func (e *Engine) Done(u *machine.Turn, keep any) <-chan struct{} {
	e.mu.Lock()
	defer e.unlock()
	if u.Ended.Load() != nil {
		return alreadyClosed
	}
	w := e.watch(u)
	w.keeps = keep
	return w.whenDone()
}

var alreadyClosed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// Watch calls x.End when a turn ends, or at once if it has ended. forget cancels that; it is nil
// if x.End was called.
func (e *Engine) Watch(u *machine.Turn, x Ender) (forget func()) {
	e.mu.Lock()
	if ended := u.Ended.Load(); ended != nil {
		e.unlock()
		x.End(ended)
		return nil
	}
	w := e.watch(u)
	w.enders[x] = struct{}{}
	e.unlock()
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(w.enders, x)
	}
}

// whenDone returns a channel that is closed when the Client calls Host.Done with what.
func (e *Engine) whenDone(what any) <-chan struct{} {
	wait := e.waits[what]
	if wait == nil {
		wait = make(chan struct{})
		e.waits[what] = wait
	}
	return wait
}

// whenCleaned returns a channel that is closed when r has ended.
func (e *Engine) whenCleaned(r *machine.Removal) <-chan struct{} {
	if r.Ended {
		return alreadyClosed
	}
	return e.whenDone(r)
}

// Share adds a lease to a turn. After an error it has added none. ended is not nil if the turn had
// ended before.
func (e *Engine) Share(ctx context.Context, u *machine.Turn, minHold time.Duration) (ended *machine.Ending, err error) {
	e.mu.Lock()
	kept, ended := u.Share(minHold)
	e.unlock()
	if ended != nil || kept {
		return ended, nil
	}
	if err := e.Prolong(ctx, u, 0, 0); err != nil { // else a crash would free the name too early
		e.mu.Lock()
		u.Unshare(minHold)
		e.mu.Unlock()
		_ = e.Release(u, false) // the other leases keep the turn
		return nil, err
	}
	return nil, nil
}

// Check asks Redis whether a turn still holds the name. It returns the time until the holder must stop.
func (e *Engine) Check(ctx context.Context, u *machine.Turn) (time.Duration, error) {
	r, err := e.ask(ctx, u, u.Check)
	if err = e.verdict(ctx, u, err); err != nil {
		return 0, err
	}
	return max(min(u.Ends(), r.HeldUntil).Sub(e.clock.Exact()), 0), nil
}

// Prolong renews a turn once and waits for the answer. It reserves at least that number of
// tokens. If extends is not 0, it is the new ttl.
func (e *Engine) Prolong(ctx context.Context, u *machine.Turn, tokens int64, extends time.Duration) error {
	r, err := e.ask(ctx, u, func(now clock.Instant) *machine.Request { return u.Prolong(now, tokens, extends) })
	if e.Err(u) == nil && err == nil && r.Acked < e.WaitReplicas {
		return &machine.TooFewReplicas{Name: u.Name.Text, Want: e.WaitReplicas, Got: r.Acked, Connected: r.Connected}
	}
	return e.verdict(ctx, u, err)
}

// ask sends a request about the tenure of a turn that has not ended, and waits for the result.
func (e *Engine) ask(ctx context.Context, u *machine.Turn, send func(now clock.Instant) *machine.Request) (*machine.Request, error) {
	e.mu.Lock()
	now := e.clock.Exact()
	if ended := u.HasEnded(now); ended != nil {
		e.unlock()
		return nil, ended.Err
	}
	q := e.question(send(now))
	e.unlock()
	return q.request, e.awaitAnswer(ctx, q)
}

// question is a request whose result a caller waits for.
type question struct {
	request  *machine.Request
	answered chan machine.Outcome
}

func (e *Engine) question(r *machine.Request) question {
	q := question{r, make(chan machine.Outcome, 1)}
	e.asked[r] = q.answered
	return q
}

// awaitAnswer waits for the result of a request.
func (e *Engine) awaitAnswer(ctx context.Context, q question) (err error) {
	select {
	case o := <-q.answered:
		return o.Err
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(q.request.Attempt): // a driver may ignore its context
		err = wire.ErrNoAnswer
	case <-e.Stopped:
		err = wire.ErrNoAnswer
	}
	e.mu.Lock()
	delete(e.asked, q.request)
	e.mu.Unlock()
	return err
}

// verdict returns the error of a call that asked Redis about a turn. If the turn has ended, it is
// the error of the turn.
func (e *Engine) verdict(ctx context.Context, u *machine.Turn, err error) error {
	said, refused := wire.AsServerError(err)
	switch over := e.Err(u); {
	case over != nil:
		return over
	case err == nil || err == ctx.Err(): //nolint:errorlint // that very one
		return err
	case refused && !wire.Transient(said):
		return wire.Failure(u.Name.Text, nil, err)
	}
	return wire.Failure(u.Name.Text, wire.ErrUnreachable, err)
}

// RenewNow renews a turn after a script reported that the name is not ours. If that is true, the
// renewal ends the turn.
func (e *Engine) RenewNow(u *machine.Turn) {
	e.mu.Lock()
	defer e.unlock()
	u.RenewNow(e.clock.Now())
}

// Verify asks Redis whether this engine still holds a name. If the answer is no, the turns end.
// Verify returns the error of ctx, or wire.ErrClosed.
func (e *Engine) Verify(ctx context.Context, name string) error {
	var asked []question
	var longest time.Duration
	e.mu.Lock()
	for _, r := range e.client.Verify(name, e.clock.Exact()) {
		asked = append(asked, e.question(r))
		longest = max(longest, r.Attempt)
	}
	e.unlock()
	bounded, cancel := context.WithTimeout(ctx, longest) // they were all sent at once
	defer cancel()
	for _, q := range asked {
		_ = e.awaitAnswer(bounded, q) // after an error the next renewal asks again
	}
	return cmp.Or(e.closed(), ctx.Err())
}

// Export renews a turn once, then ends it and forgets its tenure, so that this engine never
// releases it. If a renewal that reserves tokens was sent meanwhile, Export repeats this, 4 times
// at most: the reserved tokens are unknown until the answer.
func (e *Engine) Export(u *machine.Turn) (given machine.ExportedState, err error) {
	e.mu.Lock()
	err = u.RequireUnshared()
	e.mu.Unlock()
	if err != nil {
		return given, err
	}
	for range 4 {
		if err = e.Prolong(context.Background(), u, 1, 0); err != nil { // the new token is above all that were reserved before
			return given, err
		}
		e.mu.Lock()
		if given, err = e.client.Export(u, e.clock.Exact()); err == nil {
			e.details.Exported(u.Tenure.ID)
			host{e}.writeDetails()
		}
		e.unlock()
		if err != machine.ErrReserving { //nolint:errorlint // made there, never wrapped
			return given, err
		}
		e.awaitReservations(u)
	}
	return given, wire.Failure(u.Name.Text, wire.ErrUnreachable, err)
}

// awaitReservations waits until no renewal that reserves tokens is under way, at most
// lifetime.LongestRenewal.
func (e *Engine) awaitReservations(u *machine.Turn) {
	for late := time.Now().Add(lifetime.LongestRenewal); time.Now().Before(late); {
		e.mu.Lock()
		settled := u.Settled()
		e.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-e.Stopped:
		}
	}
}

// OtherKind is the error of Shrink if the name has another kind.
type OtherKind struct{ Letter byte } // see keyspace

func (k *OtherKind) Error() string { return "another kind" }

// Shrink reduces the weight of a turn and waits until Redis has stored that. It returns an
// *OtherKind, how the turn has ended, or wire.ErrUnknown if Redis does not answer.
func (e *Engine) Shrink(u *machine.Turn, letter byte, weight int64) error {
	k := u.Name.Kind
	e.mu.Lock()
	if is := k.Letter; is != letter && (is != keyspace.Writer || letter != keyspace.Reader) {
		defer e.unlock()
		return &OtherKind{is}
	}
	waits, ended := e.client.Shrink(u, weight, e.clock.Exact())
	if ended != nil || !waits {
		defer e.unlock()
		return reason(ended)
	}
	done, over := e.whenDone(k), e.watch(u).whenDone()
	e.unlock()

	if e.await(done, over) {
		return e.Err(u) // nil if the turn goes on
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return wire.Failure(u.Name.Text, wire.ErrUnknown, cmp.Or(u.Name.ShrinkError(), wire.ErrNoAnswer))
}

// Proclaim changes the value of a term, and waits until Redis has stored it. If that fails, the
// engine repeats it in the background.
func (e *Engine) Proclaim(ctx context.Context, u *machine.Turn, value string) error {
	e.mu.Lock()
	call, ended := e.client.Proclaim(u, value)
	e.mu.Unlock()
	if ended != nil {
		return ended.Err
	}
	err := e.proclaim(ctx, u, call)
	if err != nil {
		e.mu.Lock()
		defer e.unlock()
		e.client.AnnounceAgain(u, e.clock.Now())
	}
	return err
}

// proclaim sends the call until Redis has stored the value or the term is over.
func (e *Engine) proclaim(ctx context.Context, u *machine.Turn, call driver.Call) error {
	until := e.clock.Now().Add(e.Patience())
	for {
		reply, _, err := e.Calls.Until(ctx, until, u.Name.Text, call)
		if err != nil {
			return err
		}
		a, err := wire.DecodeAnswer(reply)
		switch {
		case err != nil:
			return wire.Failure(u.Name.Text, nil, err)
		case a.Holder == u.Tenure.ID:
			return nil
		}
		if err := e.Prolong(ctx, u, 0, 0); err != nil { // ends the lease with the cause
			return err
		}
	}
}

// Release gives one share of a turn back. waive takes back what its leases required of the
// name, because no work was done under it.
func (e *Engine) Release(u *machine.Turn, waive bool) error {
	if u.Name.Kind.Term != nil {
		defer e.resign(u)
	}
	e.mu.Lock()
	if waive {
		u.Tenure.Waive()
	}
	now := e.clock.Now()
	l := e.client.Release(u, now)
	if l.Unlock == nil {
		if l.Removal == nil {
			e.unlock()
		} else {
			e.awaitRemoval(l.Removal)
		}
		return reason(l.Ended)
	}
	w := e.waiters.Get().(*pending)
	e.asked[u] = w.ready
	e.unlockAndPerform(true, l.Unlock, now)
	select {
	case o := <-w.ready:
		e.reuse(w)
		if lost, ok := o.Err.(*machine.Lost); ok { //nolint:errorlint // made there, never wrapped
			lost.Token = u.Token
		}
		return o.Err
	case <-e.Stopped:
		return wire.Failure(u.Name.Text, wire.ErrUnknown, wire.ErrClosed)
	}
}

// awaitRemoval releases the mutex and waits for the cleanup after a MaxHold or a Revoke. The program may
// exit after Release, and then the name would stay held until its ttl ends.
func (e *Engine) awaitRemoval(r *machine.Removal) {
	gone := e.whenCleaned(r)
	e.unlock()
	e.await(gone, nil)
}

// resign announces the end of a term that was released.
func (e *Engine) resign(u *machine.Turn) {
	if u.Ended.Load() != nil && u.Announces() { // else other leases share it, see Mutex.Reentrant
		e.mu.Lock()
		defer e.unlock()
		e.client.Resigned(u, e.clock.Now())
	}
}

// await waits until one of the channels is closed, at most PatienceToRelease. It reports whether
// one was closed.
func (e *Engine) await(one, other <-chan struct{}) bool {
	select {
	case <-one:
		return true
	case <-other:
		return true
	case <-time.After(e.PatienceToRelease()):
	case <-e.Stopped:
	}
	return false
}
