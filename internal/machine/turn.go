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

// Turn is what the leases of a reentrant holder share. Guarded by the core's
// mutex, except ended. It does not know its leases: they keep the Client alive,
// and a program that drops both is noticed. A channel can keep nothing alive, so
// the turn keeps the Client from when somebody has asked for one.
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
	p := u.Local.P
	p.Host.Ended(u)
	if p.Events {
		u.noteEnd(err, now)
	}
}

// noteEnd stands apart, because an event needs much of the stack.
func (u *Turn) noteEnd(err error, now clock.Instant) {
	p := u.Local.P
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
	p.exportedIDs.Add(t.Id, n, now, n.Kind.Ttl+time.Minute)
	delete(p.tenures, t.Id)
	t.setPhase(over)
	n.turn, n.tenure, n.lingerUntil = nil, nil, 0
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
	return u.Local.P.Closed || u.Tenure.reservations == 0 || u.Ended.Load() != nil
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
