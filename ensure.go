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
	if l.turn.local.noRenew() {
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
	n := u.local
	r, err := u.ask(ctx, func(now clock.Instant) *request { return n.check(u.tenure, now) })
	if err = u.heldError(ctx, err); err != nil {
		return 0, err
	}
	return max(min(u.ends(), r.heldUntil).Sub(n.c.clock.Exact()), 0), nil
}

// ask sends a request about the tenure of a turn that has not ended, and waits for the result.
func (u *turn) ask(ctx context.Context, send func(now clock.Instant) *request) (*request, error) {
	c := u.local.c
	c.mu.Lock()
	now := c.clock.Exact()
	if e := u.hasEnded(now); e != nil {
		c.unlock()
		return nil, e.err
	}
	answered := make(chan error, 1)
	r := send(now)
	r.result = answered
	c.unlock()
	return r, c.awaitResult(ctx, r, answered)
}

// check asks whether a tenure has the name.
func (n *localName) check(t *tenure, now clock.Instant) *request {
	attempt := n.patienceToRenew(t, now)
	if q := n.c.quorum; q != nil {
		return q.check(n, t, now, attempt)
	}
	args := []string{t.id}
	if n.shared.isShrunk() {
		args = append(args, n.shared.shrunk.formerIDs...)
	}
	r := n.c.send(script.Held, n, t, now, args, (*request).checkAnswered)
	r.attempt, r.ctx = attempt, nil
	return r
}

func (r *request) checkAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.local, r.tenure
	renews := t.renewal == r // it stands in the place of a renewal: without an answer another follows, as of any
	if renews {
		t.renewal = nil
	}
	if r.outdated() && err == nil && a.Word != "ours" {
		err = wire.ErrNoAnswer // its id has been replaced
	}
	if t.phase == holding {
		switch {
		case err == nil && a.Word == "ours":
			t.confirmHeld(r.sent)
			n.stopRenewing(t)
			r.heldUntil = clock.Never
			if a.PTTL >= 0 { // else another client removed the expiry
				r.heldUntil = clock.Deadline(r.sent, a.PTTL)
			}
		case err == nil && (a.Word == "lost" || a.Word == "stolen"):
			n.lose(t, a, now)
		case err == nil && a.Word == "revoked":
			n.retire(Revoked, a.Reason, now)
		case err == nil:
			err = fmt.Errorf("held was answered %q", a.Word)
		}
		if renews && err != nil && t.phase == holding {
			t.failures++
			n.retryRenewal(t, now)
		}
		n.step(now)
	}
	if r.result != nil {
		r.result <- err
	}
}

// ensure renews and reserves at least that number of tokens.
func (u *turn) ensure(ctx context.Context, tokens int64) error { return u.prolong(ctx, tokens, 0) }

// prolong asks Redis once, to reserve at least that number of tokens, and to prolong a
// lease that is not renewed by itself.
func (u *turn) prolong(ctx context.Context, tokens int64, extends time.Duration) error {
	n := u.local
	r, err := u.ask(ctx, func(now clock.Instant) *request { return n.renewNow(u.tenure, now, tokens, extends) })
	if want := n.c.options.WaitReplicas; u.err() == nil && err == nil && r.acked < want {
		return &ReplicasError{Name: n.name, Want: want, Got: r.acked, Connected: r.connected}
	}
	return u.heldError(ctx, err)
}

// heldError is the error of a call that has asked Redis whether the lease is still held.
func (u *turn) heldError(ctx context.Context, err error) error {
	said, refused := wire.AsServerError(err)
	switch over := u.err(); {
	case over != nil:
		return over
	case err == nil || err == ctx.Err(): //nolint:errorlint // that very one
		return err
	case refused && !wire.Transient(said):
		return wire.Failure(u.local.name, nil, err)
	}
	return wire.Failure(u.local.name, ErrUnreachable, err)
}

// awaitResult waits for the result of a renewal.
func (c *core) awaitResult(ctx context.Context, r *request, answered <-chan error) error {
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

// renewNow sends a renewal that waits for no other; on a quorum as any.
func (n *localName) renewNow(t *tenure, now clock.Instant, tokens int64, extends time.Duration) *request {
	attempt := n.patienceToRenew(t, now)
	t.expiry = max(t.expiry, now.Add(n.ttl()))
	if q := n.c.quorum; q != nil {
		r := q.renew(n, t, now, attempt)
		r.extendBy = extends
		return r
	}
	args, minTTL := n.renewArgs(t, now, tokens)
	if extends > minTTL {
		minTTL = extends
		args[2] = wire.Millis(minTTL)
	}
	r := &request{
		call: n.callFor(script.Renew, args), minTTL: minTTL,
		local: n, tenure: t, sent: now, attempt: attempt, onAnswer: (*request).renewAnswered, extendBy: extends,
	}
	t.minHold.sent(r, now)
	t.reserves(r)
	n.c.outbox = append(n.c.outbox, r)
	return r
}
