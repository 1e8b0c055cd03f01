package machine

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
func (h *minHold) sent(r *Request, now clock.Instant) {
	h.plainRenewal = h.plainRenewal || r.minTTL == 0
	h.goneBy = max(h.goneBy, now.Add(r.minTTL))
}

// renewed notes until when the lock key lives after a renewal. A minTTL counts from the
// answer: what it lacks is less than a round trip, and the next renewal gives it.
func (h *minHold) renewed(r *Request, ttl time.Duration, now clock.Instant) {
	h.confirmedUntil = max(r.Sent.Add(ttl), now.Add(r.minTTL))
}

// renewForMinHold renews before a turn that asks for a MinHold.
func (n *Name) renewForMinHold(t *Tenure, now clock.Instant) {
	t.confirmed = false
	n.confirm(t, now)
}

// requiredTTL is how long the lock key has to live, if that is longer than the ttl: until
// MinHold has passed, or as long as the next turn will ask for.
func (n *Name) requiredTTL(t *Tenure, now clock.Instant) time.Duration {
	if n.Kind.NoRenew { // so that one that comes late cuts nothing that Extend gave
		return max(n.Kind.Ttl, n.requiredHold(t, now))
	}
	return n.requiredHold(t, now)
}

func (n *Name) requiredHold(t *Tenure, now clock.Instant) time.Duration {
	if t.inMinHold(now) {
		return t.minHold.until.Sub(now)
	}
	if w := n.waiters.first; n.turn == nil && w != nil && !t.minHold.plainRenewal {
		return w.MinHold
	}
	return 0
}

// inMinHold reports whether no other client may get the name yet.
func (t *Tenure) inMinHold(now clock.Instant) bool { return t.minHold.until > now }

// goneBy is by when the lock key has surely expired, unless it is renewed.
func (t *Tenure) goneBy() clock.Instant { return max(t.expiry, t.minHold.goneBy) }

// expire ends a tenure whose deadline, or whose turn's MaxHold, has passed.
func (n *Name) expire(now clock.Instant) {
	why := expired
	if n.turn != nil {
		why = cmp.Or(n.turn.Over(now), expired)
	}
	n.retire(why, "", now)
}

// retire ends a tenure whose holder has to stop. Its lock key is kept until the lease
// is released, after MaxHold until Grace has passed: that time is for work that is
// stopping. Without a lease it is released at once.
func (n *Name) retire(why Cause, reason string, now clock.Instant) {
	t, u := n.tenure, n.turn
	n.turn = nil
	if u == nil {
		n.P.end(t, now)
		n.cleanUp(t, now)
	} else {
		t.setPhase(over)
		n.tenure, n.lingerUntil = nil, 0
		n.P.Later(t.goneBy().Add(n.Kind.Ttl), now, t.forget)
		u.finish(&Lost{Name: n.Name, Token: u.Token, Cause: why, Reason: reason}, now)
		switch {
		case why == maxHold:
			n.releaseEndedLater(u, u.grace, now)
		case why == revoked && n.Kind.NoRenew: // nor did the question cut what Extend gave
			n.releaseEndedLater(u, n.Kind.Ttl, now)
		case why == expired && n.Kind.NoRenew: // the lock key may live on, see Extend
			n.releaseEnded(u, now)
		}
	}
	n.step(now)
}

// releaseEndedLater gives the name back after a while, unless Release does before.
func (n *Name) releaseEndedLater(u *Turn, after time.Duration, now clock.Instant) {
	n.P.Later(now.Add(after), now, u.graceOver)
}

// graceOver gives the name back, unless Release has.
func (u *Turn) graceOver(now clock.Instant) {
	if u.Tenure.phase == over {
		u.Local.releaseEnded(u, now)
		if u.Announces() { // before Redis has answered that, it would say that this candidate leads
			u.releaseDone.of = u
		}
	}
}

// forget ends a tenure that is over and was never released.
func (t *Tenure) forget(now clock.Instant) { t.local.P.end(t, now) }

// releaseEnded gives the name back whose lease has ended before.
func (n *Name) releaseEnded(u *Turn, now clock.Instant) {
	n.P.end(u.Tenure, now)
	u.releaseDone = n.cleanUp(u.Tenure, now)
}

// require: no other client may get the name before that.
func (h *minHold) require(until clock.Instant) {
	h.asks = append(h.asks, until)
	h.until = max(h.until, until)
}
