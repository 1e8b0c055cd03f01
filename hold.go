package holdfast

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// minHold is what a tenure knows of Mutex.MinHold. The lock key must not expire before
// MinHold has passed, or a crash would cut it short. So a turn that asks for a MinHold
// is given only after Redis has set such a ttl, and only if no request of the tenure is
// under way that could shorten it.
type minHold struct {
	until          clock.Instant   // before this no other client may get the name; 0: no turn asked for a MinHold
	asks           []clock.Instant // the end of each MinHold that a lease asked for
	confirmedUntil clock.Instant   // the lock key lives until then, as Redis confirmed last
	goneBy         clock.Instant   // by when the lock key has surely expired, as far as minTTL goes
	plainRenewal   bool            // a renewal by the ttl alone was sent: if it arrives late, it shortens the lock key's ttl to that
}

// sent notes a renewal that goes out.
func (h *minHold) sent(r *request, now clock.Instant) {
	h.plainRenewal = h.plainRenewal || r.minTTL == 0
	h.goneBy = max(h.goneBy, now.Add(r.minTTL))
}

// renewed notes until when the lock key lives after a renewal. A minTTL counts from the
// answer: what it lacks is less than a round trip, and the next renewal gives it.
func (h *minHold) renewed(r *request, ttl time.Duration, now clock.Instant) {
	h.confirmedUntil = max(r.sent.Add(ttl), now.Add(r.minTTL))
}

// renewForMinHold renews before a turn that asks for a MinHold.
func (n *localName) renewForMinHold(t *tenure, now clock.Instant) {
	t.confirmed = false
	n.confirm(t, now)
}

// requiredTTL is how long the lock key has to live, if that is longer than the ttl: until
// MinHold has passed, or as long as the next turn will ask for.
func (n *localName) requiredTTL(t *tenure, now clock.Instant) time.Duration {
	if n.kind.noRenew { // so that one that comes late cuts nothing that Extend gave
		return max(n.kind.ttl, n.requiredHold(t, now))
	}
	return n.requiredHold(t, now)
}

func (n *localName) requiredHold(t *tenure, now clock.Instant) time.Duration {
	if t.inMinHold(now) {
		return t.minHold.until.Sub(now)
	}
	if w := n.waiters.first; n.turn == nil && w != nil && !t.minHold.plainRenewal {
		return w.minHold
	}
	return 0
}

// inMinHold reports whether no other client may get the name yet.
func (t *tenure) inMinHold(now clock.Instant) bool { return t.minHold.until > now }

// goneBy is by when the lock key has surely expired, unless it is renewed.
func (t *tenure) goneBy() clock.Instant { return max(t.expiry, t.minHold.goneBy) }

// expire ends a tenure whose deadline, or whose turn's MaxHold, has passed.
func (n *localName) expire(now clock.Instant) {
	why := expired
	if n.turn != nil {
		why = cmp.Or(n.turn.over(now), expired)
	}
	n.retire(why, "", now)
}

// retire ends a tenure whose holder has to stop. Its lock key is kept until the lease
// is released, after MaxHold until Grace has passed: that time is for work that is
// stopping. Without a lease it is released at once.
func (n *localName) retire(why cause, reason string, now clock.Instant) {
	t, u := n.tenure, n.turn
	n.turn = nil
	if u == nil {
		n.p.end(t, now)
		n.cleanUp(t, now)
	} else {
		t.setPhase(over)
		n.tenure, n.lingerUntil = nil, 0
		n.p.later(t.goneBy().Add(n.kind.ttl), now, t.forget)
		u.finish(&lost{name: n.name, token: u.token, cause: why, reason: reason}, now)
		switch {
		case why == maxHold:
			n.releaseEndedLater(u, u.grace, now)
		case why == revoked && n.kind.noRenew: // nor did the question cut what Extend gave
			n.releaseEndedLater(u, n.kind.ttl, now)
		case why == expired && n.kind.noRenew: // the lock key may live on, see Extend
			n.releaseEnded(u, now)
		}
	}
	n.step(now)
}

// releaseEndedLater gives the name back after a while, unless Release does before.
func (n *localName) releaseEndedLater(u *turn, after time.Duration, now clock.Instant) {
	n.p.later(now.Add(after), now, u.graceOver)
}

// graceOver gives the name back, unless Release has.
func (u *turn) graceOver(now clock.Instant) {
	if u.tenure.phase == over {
		u.local.releaseEnded(u, now)
		if u.announces() { // before Redis has answered that, it would say that this candidate leads
			u.releaseDone.of = u
		}
	}
}

// forget ends a tenure that is over and was never released.
func (t *tenure) forget(now clock.Instant) { t.local.p.end(t, now) }

// releaseEnded gives the name back whose lease has ended before.
func (n *localName) releaseEnded(u *turn, now clock.Instant) {
	n.p.end(u.tenure, now)
	u.releaseDone = n.cleanUp(u.tenure, now)
}

// require: no other client may get the name before that.
func (h *minHold) require(until clock.Instant) {
	h.asks = append(h.asks, until)
	h.until = max(h.until, until)
}
