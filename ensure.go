package holdfast

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// EnsureHeld asks Redis once whether the lease is held, and renews it. Call it before a
// step that cannot be undone and checks no token. The lease can still be lost after the
// answer. If the lease has [Mutex.NoRenew], EnsureHeld only checks it, like
// [Lease.CheckHeld].
//
// EnsureHeld blocks until Redis answers or ctx ends, at most 3 s. A nil error means
// that the name was held when Redis was asked. [ErrLost] and [ErrReleased] mean that
// the lease is over. After [ErrUnreachable], [ErrReplicas] or a [driver.ServerError], the
// lease lasts until its deadline.
func (l *Lease) EnsureHeld(ctx context.Context) error {
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return err
	}
	if l.turn.line.fixed() {
		_, err := l.turn.check(ctx)
		return err
	}
	return l.turn.ensure(ctx, 0)
}

// CheckHeld asks Redis once whether the lease is held, and changes nothing. Use
// [Lease.EnsureHeld] to prolong it, too. It returns the time until the holder must
// stop: [Lease.Remaining], or less if another client has shortened the expiry of the
// key.
//
// CheckHeld blocks until Redis answers or ctx ends, at most 3 s. A nil error means that
// the name was held when Redis was asked. It does not ask replicas; on a quorum it asks
// a majority. Errors are those of EnsureHeld except [ErrReplicas]. An ErrLost ends the
// lease.
func (l *Lease) CheckHeld(ctx context.Context) (time.Duration, error) {
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return 0, err
	}
	return l.turn.check(ctx)
}

func (u *turn) check(ctx context.Context) (time.Duration, error) {
	l := u.line
	r, err := u.ask(ctx, func(now clock.Instant) *request { return l.check(u.tenure, now) })
	if err = u.told(ctx, err); err != nil {
		return 0, err
	}
	return max(min(u.ends(), r.until).Sub(l.c.clock.Exact()), 0), nil
}

// ask sends a request about the tenure of a turn that has not ended, and waits for the result.
func (u *turn) ask(ctx context.Context, send func(now clock.Instant) *request) (*request, error) {
	c := u.line.c
	c.mu.Lock()
	now := c.clock.Exact()
	if e := u.hasEnded(now); e != nil {
		c.unlock()
		return nil, e.err
	}
	answered := make(chan error, 1)
	r := send(now)
	r.asked = answered
	c.unlock()
	return r, c.outcome(ctx, r, answered)
}

// check asks whether a tenure has the name.
func (l *line) check(t *tenure, now clock.Instant) *request {
	attempt := l.patienceToRenew(t, now)
	if q := l.c.quorum; q != nil {
		return q.check(l, t, now, attempt)
	}
	args := []string{t.id}
	if l.shared.wasLarger() {
		args = append(args, l.shared.smaller.former...)
	}
	r := l.c.send(script.Held, l, t, now, args, (*request).checkAnswered)
	r.attempt, r.ctx = attempt, nil
	return r
}

func (r *request) checkAnswered(a wire.Answer, err error, now clock.Instant) {
	l, t := r.line, r.tenure
	renews := t.renewal == r // it stands in the place of a renewal: without an answer another follows, as of any
	if renews {
		t.renewal = nil
	}
	if r.overtaken() && err == nil && a.Word != "ours" {
		err = wire.ErrNoAnswer // the id that it bore has been replaced
	}
	if t.phase == holding {
		switch {
		case err == nil && a.Word == "ours":
			t.isOurs(r.sent)
			l.restUnlessAsked(t)
			r.until = clock.Never
			if a.PTTL >= 0 { // else somebody took the expiry away
				r.until = clock.Deadline(r.sent, a.PTTL)
			}
		case err == nil && (a.Word == "lost" || a.Word == "stolen"):
			l.lose(t, a, now)
		case err == nil && a.Word == "revoked":
			l.retire(Revoked, a.Reason, now)
		case err == nil:
			err = fmt.Errorf("held was answered %q", a.Word)
		}
		if renews && err != nil && t.phase == holding {
			t.failures++
			l.tryAgain(t, now)
		}
		l.step(now)
	}
	if r.asked != nil {
		r.asked <- err
	}
}

// ensure reserves at least so many tokens.
func (u *turn) ensure(ctx context.Context, tokens int64) error { return u.prolong(ctx, tokens, 0) }

// prolong asks Redis once, to reserve at least so many tokens, and for a lease that is not renewed
// by itself so much more time.
func (u *turn) prolong(ctx context.Context, tokens int64, extends time.Duration) error {
	l := u.line
	r, err := u.ask(ctx, func(now clock.Instant) *request { return l.renewApart(u.tenure, now, tokens, extends) })
	if want := l.c.options.WaitReplicas; u.err() == nil && err == nil && r.acked < want {
		return &ReplicasError{Name: l.name, Want: want, Got: r.acked, Connected: r.connected}
	}
	return u.told(ctx, err)
}

// told is what a caller hears that has asked Redis whether the lease is still held.
func (u *turn) told(ctx context.Context, err error) error {
	said, refused := wire.AsServerError(err)
	switch over := u.err(); {
	case over != nil:
		return over
	case err == nil || err == ctx.Err(): //nolint:errorlint // that very one
		return err
	case refused && !wire.Transient(said):
		return wire.Failure(u.line.name, nil, err)
	}
	return wire.Failure(u.line.name, ErrUnreachable, err)
}

// outcome waits for how a renewal goes, which answered is told.
func (c *core) outcome(ctx context.Context, r *request, answered <-chan error) error {
	late := time.NewTimer(r.attempt) // a driver may not heed its context
	defer late.Stop()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
	case <-c.stopped:
	}
	return wire.ErrNoAnswer
}

// renewApart sends a renewal that waits for no other; on a quorum as any.
func (l *line) renewApart(t *tenure, now clock.Instant, tokens int64, extends time.Duration) *request {
	attempt := l.patienceToRenew(t, now)
	t.expiry = max(t.expiry, now.Add(l.ttl()))
	if q := l.c.quorum; q != nil {
		r := q.renew(l, t, now, attempt)
		r.extends = extends
		return r
	}
	args, least := l.renewArgs(t, now, tokens)
	if extends > least {
		least = extends
		args[2] = wire.Millis(least)
	}
	r := &request{
		call: l.call(script.Renew, args), least: least,
		line: l, tenure: t, sent: now, attempt: attempt, answered: (*request).renewAnswered, extends: extends,
	}
	t.minHold.sent(r, now)
	t.reserves(r)
	l.c.outbox = append(l.c.outbox, r)
	return r
}
