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
	n := l.turn.local
	switch {
	case ttl < MinTTL || ttl > MaxTTL:
		panic(fmt.Sprintf("holdfast: Extend by %v: it must be from %v to %v", ttl, MinTTL, MaxTTL))
	case !n.noRenew():
		return wire.Failure(n.name, nil, errors.New("Extend works only for a lease with Mutex.NoRenew: this lease is renewed automatically"))
	case n.c.quorum != nil && ttl > n.ttl():
		return notOnQuorum(n.name, "Extend by more than the ttl of the Mutex")
	}
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return err
	}
	return l.turn.prolong(ctx, 0, ttl)
}

// noRenew: only Extend prolongs a turn of this name, see Mutex.NoRenew. Instead of renewing
// it asks Redis.
func (n *localName) noRenew() bool { return n.dedicated != nil && n.dedicated.noRenew }

// heldWithoutRenewal reports whether a turn has the name that is not renewed. Before it begins the tenure is
// renewed as others are.
func (n *localName) heldWithoutRenewal() bool { return n.noRenew() && n.turn != nil }

// stopRenewing: a turn that is not renewed needs no next renewal.
func (n *localName) stopRenewing(t *tenure) {
	if n.heldWithoutRenewal() && t.failures == 0 && t.verifySince == 0 {
		t.renewAt = clock.Never
	}
}

// confirmHeld notes that Redis said so, to what was sent then. An answer to what was sent
// before verifySince proves nothing.
func (t *tenure) confirmHeld(sent clock.Instant) {
	if sent >= t.verifySince {
		t.failures, t.verifySince = 0, 0
	}
}

// renewInterval is the longest time between two tries to renew, or to ask: a turn that is not renewed
// may have a long ttl, and a question about it is repeated soon.
func (n *localName) renewInterval(t *tenure) time.Duration {
	if n.heldWithoutRenewal() {
		return min(t.ttl/6, longestRenewal)
	}
	return t.ttl / 6
}

// prolonged notes what an answered renewal gives the holder.
func (n *localName) prolonged(r *request) {
	t := r.tenure
	switch {
	case !n.noRenew():
		t.prolong(r.sent, n.ttl(), n.c.jitter)
	case n.turn == nil || r.extendBy > 0:
		again := t.renewAt
		t.prolong(r.sent, cmp.Or(r.extendBy, n.ttl()), n.c.jitter)
		t.renewAt = min(t.renewAt, again)
		t.confirmHeld(r.sent)
	}
}

// checkNow asks at once whether a tenure is still ours: by a renewal, unless it has none.
func (n *localName) checkNow(t *tenure, now clock.Instant) *request {
	if n.heldWithoutRenewal() {
		n.renew(t, now)
		n.arm(now)
		return t.renewal
	}
	return n.renewNow(t, now, 0, 0)
}
