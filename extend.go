package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Extend prolongs a lease with [Mutex.NoRenew]. The lease then lasts at least
// 0.99 × ttl - 2 ms from now. A ttl shorter than the remaining time changes nothing.
// [Mutex.MaxHold] still ends the lease. Extend panics if ttl is not from [MinTTL] to
// [MaxTTL].
//
// If this process dies, the name stays held until the longest requested ttl has passed.
// Steal of package admin frees it earlier.
//
// Extend blocks until Redis answers or ctx ends, at most 3 s. [ErrLost] and
// [ErrReleased] mean that the lease is over. After [ErrUnreachable] or the error of
// ctx, Redis may have prolonged the name, but the deadline of the lease is not changed.
// After [ErrReplicas] or a [driver.ServerError] it is not changed either. Extend returns an
// error for a lease without NoRenew, and on a quorum for a ttl longer than the TTL of
// the Mutex.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	line := l.turn.line
	switch {
	case ttl < MinTTL || ttl > MaxTTL:
		panic(fmt.Sprintf("holdfast: Extend by %v: it must be from %v to %v", ttl, MinTTL, MaxTTL))
	case !line.fixed():
		return wire.Failure(line.name, nil, errors.New("Extend works only for a lease with Mutex.NoRenew: this lease is renewed automatically"))
	case line.c.quorum != nil && ttl > line.ttl():
		return notOnQuorum(line.name, "Extend by more than the ttl of the Mutex")
	}
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
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
		t.renewAt = clock.Never
	}
}

// isOurs notes that Redis said so, to what was sent then. What was sent before the newest
// doubt does not end that.
func (t *tenure) isOurs(sent clock.Instant) {
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
func (l *line) asksApart(t *tenure, now clock.Instant) *request {
	if l.unrenewed() {
		l.renew(t, now)
		l.arm(now)
		return t.renewal
	}
	return l.renewApart(t, now, 0, 0)
}
