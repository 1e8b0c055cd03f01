package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Extend makes a lease with Mutex.NoRenew last for at least ttl from now, less a
// hundredth and 2 ms. It never ends it sooner: a ttl that is shorter than what remains changes
// nothing. ttl must be from MinTTL to MaxTTL, else Extend panics. Mutex.MaxHold ends the lease all the same.
//
// If this process dies, the name becomes free when the longest ttl that Extend or the Mutex asked for
// has passed. Client.Steal frees it earlier.
//
// nil: Redis has prolonged it. ErrLost: it is over, with the cause. ErrReleased: it was
// given back. ErrUnreachable, or the end of ctx: nobody knows whether the name lives longer in Redis, and the
// lease ends as before, when the name is given back. Other errors: ErrReplicas and a ServerError, after which it ends as before,
// too; one that says that this lease is renewed by itself, or that a Client of a quorum can't give
// it more than the ttl of its Mutex. It costs one round trip; ctx bounds the wait, 3 s at most.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	line := l.turn.line
	switch {
	case ttl < MinTTL || ttl > MaxTTL:
		panic(fmt.Sprintf("holdfast: Extend by %v: it must be from %v to %v", ttl, MinTTL, MaxTTL))
	case !line.fixed():
		return &storeError{line.name, nil, errors.New("Extend works for a lease with Mutex.NoRenew: this one is renewed by itself")}
	case line.c.quorum != nil && ttl > line.ttl():
		return notOnQuorum(line.name, "Extend by more than the ttl of the Mutex")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return err
	}
	return l.turn.prolong(ctx, 0, ttl)
}

// fixed: nothing but Extend prolongs a turn of this line, see Mutex.NoRenew. In the place
// of a renewal it asks.
func (l *line) fixed() bool { return l.apart != nil && l.apart.fixed }

// unrenewed reports whether a turn has the name that is not renewed. Before it begins the tenure is
// renewed as others are.
func (l *line) unrenewed() bool { return l.fixed() && l.turn != nil }

// restUnlessAsked: a turn that is not renewed needs no next renewal.
func (l *line) restUnlessAsked(t *tenure) {
	if l.unrenewed() && t.failures == 0 && t.doubted == 0 {
		t.renewAt = never
	}
}

// isOurs notes that Redis said so, to what was sent then. What was sent before the newest
// doubt does not end that.
func (t *tenure) isOurs(sent instant) {
	if sent >= t.doubted {
		t.failures, t.doubted = 0, 0
	}
}

// pause is the longest time between two tries to renew, or to ask: a turn that is not renewed
// may have a long life, and what is doubted of it is asked again soon.
func (l *line) pause(t *tenure) time.Duration {
	if l.unrenewed() {
		return min(t.life/6, longestRenewal)
	}
	return t.life / 6
}

// prolonged notes what an answered renewal gives the holder.
func (l *line) prolonged(r *request) {
	t := r.tenure
	switch {
	case !l.fixed():
		t.hold(r.sent, l.ttl(), l.c.jitter)
	case l.turn == nil || r.extends > 0:
		again := t.renewAt
		t.hold(r.sent, cmp.Or(r.extends, l.ttl()), l.c.jitter)
		t.renewAt = min(t.renewAt, again)
		t.isOurs(r.sent)
	}
}

// asksApart asks at once whether a tenure is still ours: by a renewal, unless it has none.
func (l *line) asksApart(t *tenure, now instant) *request {
	if l.unrenewed() {
		l.renew(t, now)
		l.arm(now)
		return t.renewal
	}
	return l.renewApart(t, now, 0, 0)
}
