package holdfast

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

// turn is what the leases of a reentrant holder share. Guarded by the core's
// mutex, except ended. It does not know its leases: they keep the Client alive,
// and a program that drops both is noticed. A channel can keep nothing alive, so
// the turn keeps the Client from when somebody has asked for one.
type turn struct {
	local       *localName
	tenure      *tenure
	token       int64
	since       clock.Instant
	until       clock.Instant // by MaxHold; 0: without end
	grace       time.Duration // how long the lock key is kept for work that is stopping by then
	releaseDone *removal      // the cleanup after that; nil: none yet
	shares      int
	ended       atomic.Pointer[ending]
}

// ending is how a turn ended.
type ending struct{ err error }

var releasedEnding = &ending{wire.ErrReleased} // how most turns end

// finish ends a turn, once.
func (u *turn) finish(err error, now clock.Instant) {
	if u.ended.Load() != nil {
		return
	}
	if err == wire.ErrReleased { //nolint:errorlint // made here, never wrapped
		u.ended.Store(releasedEnding)
	} else {
		u.ended.Store(&ending{err})
	}
	p := u.local.p
	p.host.ended(u)
	if p.events {
		u.noteEnd(err, now)
	}
}

// noteEnd stands apart, because an event needs much of the stack.
func (u *turn) noteEnd(err error, now clock.Instant) {
	p := u.local.p
	if l, ok := err.(*lost); ok { //nolint:errorlint // made here, never wrapped
		ended := min(now, u.ends()) // at its deadline, however late that was noticed
		p.host.note(event{what: leaseLost, name: l.name, token: l.token, cause: l.cause, reason: l.reason, took: ended.Sub(u.since), kind: u.local.kind.letter, at: ended})
		return
	}
	p.host.note(event{what: leaseReleased, name: u.local.name, token: u.token, took: now.Sub(u.since), kind: u.local.kind.letter})
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

// share adds a lease to a turn, with its MinHold: the longest counts. confirmed: the lock key
// lives for it.
func (u *turn) share(least time.Duration) (confirmed bool, e *ending) {
	if e := u.ended.Load(); e != nil {
		return false, e
	}
	u.shares++
	if least == 0 {
		return true, nil
	}
	until := u.since.Add(least)
	u.tenure.minHold.require(until)
	return until <= u.tenure.minHold.confirmedUntil, nil
}

// dropMinHold takes that back if the call got no lease after all.
func (u *turn) dropMinHold(least time.Duration) {
	h := &u.tenure.minHold
	if i := slices.Index(h.asks, u.since.Add(least)); i >= 0 {
		h.asks = slices.Delete(h.asks, i, i+1)
		h.until = 0
		for _, until := range h.asks {
			h.until = max(h.until, until)
		}
	}
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
func (u *turn) over(now clock.Instant) cause {
	switch {
	case now < u.ends():
		return ""
	case u.until > 0 && u.until < u.tenure.ends():
		return maxHold
	}
	return expired
}

// hasEnded is how a turn ended; nil: it goes on. A turn whose deadline has passed
// ends now, if that was not noticed before.
func (u *turn) hasEnded(now clock.Instant) *ending {
	if u.local.turn == u && u.over(now) != "" {
		u.local.expire(now)
	}
	return u.ended.Load()
}

func (u *turn) checkUnshared() error {
	if u.shares > 1 {
		return wire.Failure(u.local.name, nil, fmt.Errorf("%d leases share it (Mutex.Reentrant): release the others before you export it", u.shares))
	}
	return nil
}

// givenAway is what an adopter has to know.
type givenAway struct {
	last  int64  // the highest token that the tenure has reserved
	leads bool   // it is a term
	value string // its newest
}

// export ends a turn and forgets its tenure.
func (p *process) export(u *turn, now clock.Instant) (given givenAway, err error) {
	n, t := u.local, u.tenure
	if e := u.hasEnded(now); e != nil {
		return given, e.err
	}
	if err := u.checkUnshared(); err != nil {
		return given, err
	}
	if t.inMinHold(now) {
		return given, wire.Failure(n.name, nil, errors.New("its Mutex.MinHold is not over: it cannot be exported before"))
	}
	if t.reservations > 0 {
		return given, errReserving
	}
	p.exportedIDs.Add(t.id, n, now, n.kind.ttl+time.Minute)
	delete(p.tenures, t.id)
	t.setPhase(over)
	n.turn, n.tenure, n.lingerUntil = nil, nil, 0
	u.finish(&lost{name: n.name, token: u.token, cause: exportedAway}, now)
	n.step(now)
	given.last = t.tokens.Last()
	if n.kind.term != nil {
		given.leads, given.value = true, n.kind.newest()
	}
	return given, nil
}

// settled reports whether no renewal that reserves tokens is under way, or the turn is over.
func (u *turn) settled() bool {
	return u.local.p.closed || u.tenure.reservations == 0 || u.ended.Load() != nil
}

// reserves counts a renewal that goes out, if it reserves tokens.
func (t *tenure) reserves(r *request) {
	if args := r.call.Args; len(args) > 1 && args[1] != "0" {
		r.reserving = true
		t.reservations++
	}
}

// stolen: Redis has said that nobody has the name by this id any more.
func (t *tenure) stolen(reason string, now clock.Instant) {
	if t.phase != holding {
		t.verifySince = now
		return
	}
	t.local.lose(t, wire.Answer{Word: "stolen", Reason: reason}, now)
	t.local.step(now)
}

// revocationPushed: a push says that a tenure of ours has a revocation. Anybody
// may publish, so Redis is asked, by a renewal that is sent after it.
func (n *localName) revocationPushed(t *tenure, now clock.Instant) {
	if t.phase != holding {
		t.verifySince = now
		return
	}
	n.renew(t, now)
	n.step(now)
}

// source is how the newest turn's caller came to know.
func (n *localName) source(w *waiter) source {
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
