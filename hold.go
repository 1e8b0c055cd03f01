package holdfast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// MaxMinHold is the longest [Mutex.MinHold] and the longest interval of [Client.Once].
const MaxMinHold = 31 * 24 * time.Hour

// checkHold panics where MinHold and MaxHold are mistakes of the program.
func (m *Mutex) checkHold() error {
	if m.Owner != "" || m.TTL != 0 {
		if err := m.checkDedicated(); err != nil {
			return err
		}
	}
	checkGrace(m.name, m.Grace, cmp.Or(m.TTL, m.client.options.TTL))
	if m.MinHold == 0 && m.MaxHold == 0 {
		return nil
	}
	if m.MinHold < 0 || m.MinHold > MaxMinHold || m.MaxHold < 0 {
		panic(fmt.Sprintf("holdfast: Mutex.MinHold is %v, Mutex.MaxHold is %v: they must not be negative, and MinHold at most %v", m.MinHold, m.MaxHold, MaxMinHold))
	}
	if m.MinHold > 0 && m.client.quorum != nil {
		return notOnQuorum(m.name, "Mutex.MinHold")
	}
	return nil
}

// checkGrace panics where Grace is a mistake of the program.
func checkGrace(name string, grace, ttl time.Duration) {
	if grace < 0 || grace > ttl {
		panic(fmt.Sprintf("holdfast: Grace of %s is %v: it must not be negative, and at most the TTL, which is %v", name, grace, ttl))
	}
}

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
	if n.noRenew() { // so that one that comes late cuts nothing that Extend gave
		return max(n.ttl(), n.requiredHold(t, now))
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

// endScript is what ends a tenure in Redis: before its MinHold is over by the
// script cooldown, whose duration is computed again for each try.
func (n *localName) endScript(id, fresh string, rests, now clock.Instant) (*driver.Script, []string) {
	if rests > now {
		return script.Cooldown, []string{id, wire.Millis(rests.Sub(now)), n.owner(), n.shard, fresh}
	}
	return script.Unlock, n.unlockArgs(id, fresh)
}

// expire ends a tenure whose deadline, or whose turn's MaxHold, has passed.
func (n *localName) expire(now clock.Instant) {
	cause := Expired
	if n.turn != nil {
		cause = cmp.Or(n.turn.over(now), Expired)
	}
	n.retire(cause, "", now)
}

// retire ends a tenure whose holder has to stop. Its lock key is kept until the lease
// is released, after MaxHold until Grace has passed: that time is for work that is
// stopping. Without a lease it is released at once.
func (n *localName) retire(cause Cause, reason string, now clock.Instant) {
	t, u := n.tenure, n.turn
	n.turn = nil
	if u == nil {
		n.c.end(t, now)
		n.cleanUp(t, now)
	} else {
		t.setPhase(over)
		n.tenure, n.lingerUntil = nil, 0
		n.c.later(t.goneBy().Add(n.ttl()), func(now clock.Instant) { n.c.end(t, now) })
		u.finish(&LostError{Name: n.name, Token: u.token, Cause: cause, Reason: reason}, now)
		switch {
		case cause == MaxHold:
			n.releaseEndedLater(u, u.grace, now)
		case cause == Revoked && n.noRenew(): // nor did the question cut what Extend gave
			n.releaseEndedLater(u, n.ttl(), now)
		case cause == Expired && n.noRenew(): // the lock key may live on, see Extend
			n.releaseEnded(u, now)
		}
	}
	n.step(now)
}

// releaseEndedLater gives the name back after a while, unless Release does before.
func (n *localName) releaseEndedLater(u *turn, after time.Duration, now clock.Instant) {
	n.c.later(now.Add(after), func(now clock.Instant) {
		if u.tenure.phase == over {
			n.releaseEnded(u, now)
			n.candidate.releasedAfterGrace(u)
		}
	})
}

// releaseEnded gives the name back whose lease has ended before.
func (n *localName) releaseEnded(u *turn, now clock.Instant) {
	n.c.end(u.tenure, now)
	u.releaseDone = n.cleanUp(u.tenure, now)
}

// cleanUp ends, in the background, what a tenure has left in Redis. What it returns
// is closed when that is done.
func (n *localName) cleanUp(t *tenure, now clock.Instant) <-chan struct{} {
	if t.inMinHold(now) {
		return n.c.coolDown(t.id, n, now, t.minHold.until).whenDone()
	}
	if q := n.c.quorum; q != nil {
		return q.cleanUp(t.id, n, true, now, t.goneBy())
	}
	return n.c.cleanUp(script.Unlock, n, now, t.goneBy(), n.unlockArgs(t.id, "")).whenDone()
}

// coolDown starts the cool-down of a name that an id still holds.
func (c *core) coolDown(id string, n *localName, now, until clock.Instant) *cleanup {
	return c.startCleanup(&cleanup{call: driver.Call{Script: script.Cooldown, Keys: n.keys[:], Args: []string{id}}, local: n, coolUntil: until, until: until.Add(n.ttl())}, now)
}

// minHoldEnd is when the MinHold of an id is over; 0: it has none, or the cool-down has
// begun.
func (c *core) minHoldEnd(id string) clock.Instant {
	if t := c.tenures[id]; t != nil {
		return t.minHold.until
	}
	return c.minHolds[id]
}

// rememberMinHold remembers the MinHold of an ended id: until then no cancel may give the
// name away.
func (c *core) rememberMinHold(t *tenure, now clock.Instant) {
	if t.inMinHold(now) {
		c.minHolds[t.id] = t.minHold.until
		c.later(t.minHold.until, func(clock.Instant) { delete(c.minHolds, t.id) })
	}
}

// setHoldLimits notes how long a turn has to last, and may.
func (u *turn) setHoldLimits(w *waiter, now clock.Instant) {
	if w.minHold > 0 {
		u.tenure.minHold.require(now.Add(w.minHold))
	}
	if w.maxHold > 0 {
		u.until, u.grace = now.Add(w.maxHold), cmp.Or(w.grace, 2*time.Second)
	}
	u.local.stopRenewing(u.tenure)
}

// requireMinHold adds the MinHold of a lease that shares a turn: the longest counts.
func (u *turn) requireMinHold(minHold time.Duration) {
	if minHold > 0 {
		u.tenure.minHold.require(u.since.Add(minHold))
	}
}

// dropMinHold takes that back if the call got no lease after all.
func (u *turn) dropMinHold(minHold time.Duration) {
	h := &u.tenure.minHold
	if i := slices.Index(h.asks, u.since.Add(minHold)); i >= 0 {
		h.asks = slices.Delete(h.asks, i, i+1)
		h.until = 0
		for _, until := range h.asks {
			h.until = max(h.until, until)
		}
	}
}

// require: no other client may get the name before that.
func (h *minHold) require(until clock.Instant) {
	h.asks = append(h.asks, until)
	h.until = max(h.until, until)
}

// waive drops the MinHold: the work that it was for was not done.
func (u *turn) waive() { u.tenure.minHold.until, u.tenure.minHold.asks = 0, nil }

// ends is the holder's own deadline.
func (u *turn) ends() clock.Instant {
	if u.until > 0 {
		return min(u.tenure.ends(), u.until)
	}
	return u.tenure.ends()
}

// over is why a turn has ended without a release; empty: it has not.
func (u *turn) over(now clock.Instant) Cause {
	switch {
	case now < u.ends():
		return ""
	case u.until > 0 && u.until < u.tenure.ends():
		return MaxHold
	}
	return Expired
}

// hasEnded is how a turn ended; nil: it goes on. What is over ends now, if that was not
// noticed before.
func (u *turn) hasEnded(now clock.Instant) *ending {
	if u.local.turn == u && u.over(now) != "" {
		u.local.expire(now)
	}
	return u.ended.Load()
}
