package holdfast

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// heldWithoutRenewal reports whether a turn has the name that is not renewed. Before it begins the tenure is
// renewed as others are.
func (n *localName) heldWithoutRenewal() bool { return n.kind.noRenew && n.turn != nil }

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
	case !n.kind.noRenew:
		t.prolong(r.sent, n.kind.ttl, n.p.jitter)
	case n.turn == nil || r.extendBy > 0:
		again := t.renewAt
		t.prolong(r.sent, cmp.Or(r.extendBy, n.kind.ttl), n.p.jitter)
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
