package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Turn is what the leases of a reentrant holder share. All of it is guarded by the engine's mutex,
// except Ended. It does not know its leases: they keep the Client alive, and a program that drops
// both is noticed. What asks Redis about a turn stands in renew.go, what is about terms in kind.go.
type Turn struct {
	Local       *Name
	Tenure      *Tenure
	Token       int64
	since       clock.Instant
	until       clock.Instant // by MaxHold; 0: without end
	grace       time.Duration // how long the lock key is kept for work that is stopping by then
	releaseDone *Removal      // the cleanup after that; nil: none yet
	shares      int
	Ended       atomic.Pointer[Ending]
}

// Ending is how a turn ended.
type Ending struct{ Err error }

var releasedEnding = &Ending{wire.ErrReleased} // how most turns end

// Has reports whether a turn is one of this process, of that name.
func (p *Process) Has(u *Turn, name string) bool { return u.Local.p == p && u.Local.Name == name }

// finish ends a turn, once.
func (u *Turn) finish(err error, now clock.Instant) {
	if u.Ended.Load() != nil {
		return
	}
	if err == wire.ErrReleased { //nolint:errorlint // made here, never wrapped
		u.Ended.Store(releasedEnding)
	} else {
		u.Ended.Store(&Ending{err})
	}
	p := u.Local.p
	p.Host.Ended(u)
	if p.Events {
		u.noteEnd(err, now)
	}
}

// noteEnd stands apart, because an event needs much of the stack.
func (u *Turn) noteEnd(err error, now clock.Instant) {
	p := u.Local.p
	if l, ok := err.(*Lost); ok { //nolint:errorlint // made here, never wrapped
		ended := min(now, u.Ends()) // at its deadline, however late that was noticed
		p.Host.Note(Event{What: LeaseLost, Name: l.Name, Token: l.Token, Cause: l.Cause, Reason: l.Reason, Took: ended.Sub(u.since), Kind: u.Local.Kind.Letter, At: ended})
		return
	}
	p.Host.Note(Event{What: LeaseReleased, Name: u.Local.Name, Token: u.Token, Took: now.Sub(u.since), Kind: u.Local.Kind.Letter})
}

// setHoldLimits notes how long a turn has to last, and may.
func (u *Turn) setHoldLimits(w *Waiter, now clock.Instant) {
	if w.MinHold > 0 {
		u.Tenure.minHold.require(now.Add(w.MinHold))
	}
	if w.MaxHold > 0 {
		u.until, u.grace = now.Add(w.MaxHold), cmp.Or(w.Grace, 2*time.Second)
	}
	u.Local.stopRenewing(u.Tenure)
}

// Share adds a lease to a turn, with its MinHold: the longest counts. confirmed: the lock key
// lives for it.
func (u *Turn) Share(least time.Duration) (confirmed bool, e *Ending) {
	if e := u.Ended.Load(); e != nil {
		return false, e
	}
	u.shares++
	if least == 0 {
		return true, nil
	}
	until := u.since.Add(least)
	u.Tenure.minHold.require(until)
	return until <= u.Tenure.minHold.confirmedUntil, nil
}

// DropMinHold takes that back if the call got no lease after all.
func (u *Turn) DropMinHold(least time.Duration) {
	h := &u.Tenure.minHold
	if i := slices.Index(h.asks, u.since.Add(least)); i >= 0 {
		h.asks = slices.Delete(h.asks, i, i+1)
		h.until = 0
		for _, until := range h.asks {
			h.until = max(h.until, until)
		}
	}
}

// Waive drops the MinHold: the work that it was for was not done.
func (u *Turn) Waive() { u.Tenure.minHold.until, u.Tenure.minHold.asks = 0, nil }

// Ends is the holder's own deadline.
func (u *Turn) Ends() clock.Instant {
	if u.until > 0 {
		return min(u.Tenure.Ends(), u.until)
	}
	return u.Tenure.Ends()
}

// Over is why a turn has ended without a release; empty: it has not.
func (u *Turn) Over(now clock.Instant) Cause {
	switch {
	case now < u.Ends():
		return ""
	case u.until > 0 && u.until < u.Tenure.Ends():
		return maxHold
	}
	return expired
}

// HasEnded is how a turn ended; nil: it goes on. A turn whose deadline has passed
// ends now, if that was not noticed before.
func (u *Turn) HasEnded(now clock.Instant) *Ending {
	if u.Local.turn == u && u.Over(now) != "" {
		u.Local.expire(now)
	}
	return u.Ended.Load()
}

// CheckUnshared returns an error if several leases share the turn.
func (u *Turn) CheckUnshared() error {
	if u.shares > 1 {
		return wire.Failure(u.Local.Name, nil, fmt.Errorf("%d leases share it (Mutex.Reentrant): release the others before you export it", u.shares))
	}
	return nil
}

// GivenAway is what an adopter has to know.
type GivenAway struct {
	Last  int64  // the highest token that the tenure has reserved
	Leads bool   // it is a term
	Value string // its newest
}

// Export ends a turn and forgets its tenure.
func (p *Process) Export(u *Turn, now clock.Instant) (given GivenAway, err error) {
	n, t := u.Local, u.Tenure
	if e := u.HasEnded(now); e != nil {
		return given, e.Err
	}
	if err := u.CheckUnshared(); err != nil {
		return given, err
	}
	if t.inMinHold(now) {
		return given, wire.Failure(n.Name, nil, errors.New("its Mutex.MinHold is not over: it cannot be exported before"))
	}
	if t.reservations > 0 {
		return given, ErrReserving
	}
	p.exportedIDs.Add(t.ID, n, now, n.Kind.TTL+time.Minute)
	delete(p.tenures, t.ID)
	t.setPhase(over)
	n.turn, n.tenure, n.lingerUntil = nil, nil, 0
	u.shares = 0 // so that no Release ends what is exported
	u.finish(&Lost{Name: n.Name, Token: u.Token, Cause: exportedAway}, now)
	n.step(now)
	given.Last = t.tokens.Last()
	if n.Kind.Term != nil {
		given.Leads, given.Value = true, n.Kind.newest()
	}
	return given, nil
}

// Settled reports whether no renewal that reserves tokens is under way, or the turn is over.
func (u *Turn) Settled() bool {
	return u.Local.p.Closed || u.Tenure.reservations == 0 || u.Ended.Load() != nil
}

// reserves counts a renewal that goes out, if it reserves tokens.
func (t *Tenure) reserves(r *Request) {
	if args := r.Call.Args; len(args) > 1 && args[1] != "0" {
		r.reserving = true
		t.reservations++
	}
}

// stolen: Redis has said that nobody has the name by this id any more.
func (t *Tenure) stolen(reason string, now clock.Instant) {
	if t.phase != holding {
		t.verifySince = now
		return
	}
	t.local.lose(t, wire.Answer{Word: "stolen", Reason: reason}, now)
	t.local.step(now)
}

// revocationPushed: a push says that a tenure of ours has a revocation. Anybody
// may publish, so Redis is asked, by a renewal that is sent after it.
func (n *Name) revocationPushed(t *Tenure, now clock.Instant) {
	if t.phase != holding {
		t.verifySince = now
		return
	}
	n.renew(t, now)
	n.step(now)
}

// source is how the newest turn's caller came to know.
func (n *Name) source(w *Waiter) Source {
	switch {
	case n.tenure.turns > 1:
		return sourceTurn
	case n.tenure.pushed:
		return sourcePush
	case n.seen.known && n.seen.at >= w.since:
		return sourcePoll
	}
	return sourceAnswer
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
		return max(n.Kind.TTL, n.requiredHold(t, now))
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
		n.p.end(t, now)
		n.cleanUp(t, now)
	} else {
		t.setPhase(over)
		n.tenure, n.lingerUntil = nil, 0
		n.p.Later(t.goneBy().Add(n.Kind.TTL), now, t.forget)
		u.finish(&Lost{Name: n.Name, Token: u.Token, Cause: why, Reason: reason}, now)
		switch {
		case why == maxHold:
			n.releaseEndedLater(u, u.grace, now)
		case why == revoked && n.Kind.NoRenew: // nor did the question cut what Extend gave
			n.releaseEndedLater(u, n.Kind.TTL, now)
		case why == expired && n.Kind.NoRenew: // the lock key may live on, see Extend
			n.releaseEnded(u, now)
		}
	}
	n.step(now)
}

// releaseEndedLater gives the name back after a while, unless Release does before.
func (n *Name) releaseEndedLater(u *Turn, after time.Duration, now clock.Instant) {
	n.p.Later(now.Add(after), now, u.graceOver)
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
func (t *Tenure) forget(now clock.Instant) { t.local.p.end(t, now) }

// releaseEnded gives the name back whose lease has ended before.
func (n *Name) releaseEnded(u *Turn, now clock.Instant) {
	n.p.end(u.Tenure, now)
	u.releaseDone = n.cleanUp(u.Tenure, now)
}

// require: no other client may get the name before that.
func (h *minHold) require(until clock.Instant) {
	h.asks = append(h.asks, until)
	h.until = max(h.until, until)
}
