package machine

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// heldWithoutRenewal reports whether a turn has the name that is not renewed. Before it begins the tenure is
// renewed as others are.
func (n *Name) heldWithoutRenewal() bool { return n.Kind.NoRenew && n.turn != nil }

// stopRenewing: a turn that is not renewed needs no next renewal.
func (n *Name) stopRenewing(t *Tenure) {
	if n.heldWithoutRenewal() && t.failures == 0 && t.verifySince == 0 {
		t.renewAt = clock.Never
	}
}

// confirmHeld notes that Redis said so, to what was sent then. An answer to what was sent
// before verifySince proves nothing.
func (t *Tenure) confirmHeld(sent clock.Instant) {
	if sent >= t.verifySince {
		t.failures, t.verifySince = 0, 0
	}
}

// renewInterval is the longest time between two tries to renew, or to ask: a turn that is not renewed
// may have a long ttl, and a question about it is repeated soon.
func (n *Name) renewInterval(t *Tenure) time.Duration {
	if n.heldWithoutRenewal() {
		return min(t.ttl/6, LongestRenewal)
	}
	return t.ttl / 6
}

// prolonged notes what an answered renewal gives the holder.
func (n *Name) prolonged(r *Request) {
	t := r.Tenure
	switch {
	case !n.Kind.NoRenew:
		t.prolong(r.Sent, n.Kind.Ttl, n.P.Jitter)
	case n.turn == nil || r.extendBy > 0:
		again := t.renewAt
		t.prolong(r.Sent, cmp.Or(r.extendBy, n.Kind.Ttl), n.P.Jitter)
		t.renewAt = min(t.renewAt, again)
		t.confirmHeld(r.Sent)
	}
}

// checkNow asks at once whether a tenure is still ours: by a renewal, unless it has none.
func (n *Name) checkNow(t *Tenure, now clock.Instant) *Request {
	if n.heldWithoutRenewal() {
		n.renew(t, now)
		n.arm(now)
		return t.renewal
	}
	return n.renewNow(t, now, 0, 0)
}
