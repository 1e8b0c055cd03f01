package machine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Turn is the use of a tenure by one local waiter. Re-entrant leases share one turn. The engine's
// mutex protects it, except Ended. It must not refer to its leases: a lease keeps its Client alive, and
// a program may drop both.
type Turn struct {
	Name    *Name
	Tenure  *Tenure
	Token   int64
	since   clock.Instant
	until   clock.Instant // its end by MaxHold, or clock.Never
	grace   time.Duration // how long the lock key is kept after until, for work that is stopping
	removal *Removal      // gives the name back after the end; nil: not started
	shares  int
	Ended   atomic.Pointer[Ending]
}

// Ending is how a turn ended.
type Ending struct{ Err error }

var releasedEnding = &Ending{wire.ErrReleased} // how most turns end

// end ends a turn, once.
func (u *Turn) end(err error, now clock.Instant) {
	if u.Ended.Load() != nil {
		return
	}
	if err == wire.ErrReleased { //nolint:errorlint // made here, never wrapped
		u.Ended.Store(releasedEnding)
	} else {
		u.Ended.Store(&Ending{err})
	}
	c := u.Name.client
	c.Host.Ended(u)
	if c.Events {
		u.noteEnd(err, now)
	}
}

// noteEnd is a function of its own, because an Event needs much of the stack.
func (u *Turn) noteEnd(err error, now clock.Instant) {
	c := u.Name.client
	if l, ok := err.(*Lost); ok { //nolint:errorlint // made here, never wrapped
		end := min(now, u.Ends()) // at its deadline, however late that was noticed
		c.Host.Note(Event{What: LeaseLost, Name: l.Name, Holder: u.Name.Kind.Owner, Token: l.Token, Cause: l.Cause, Reason: l.Reason, Took: end.Sub(u.since), Letter: u.Name.Kind.Letter, At: end})
		return
	}
	c.Host.Note(Event{What: LeaseReleased, Name: u.Name.Text, Holder: u.Name.Kind.Owner, Token: u.Token, Took: now.Sub(u.since), Letter: u.Name.Kind.Letter})
}

// Share adds a lease to a turn. If kept is false, the lock key does not live as long as the lease asks
// for: renew first. e is not nil if the turn has ended.
func (u *Turn) Share(minHold time.Duration) (kept bool, e *Ending) {
	if e := u.Ended.Load(); e != nil {
		return false, e
	}
	u.shares++
	return minHold == 0 || u.Tenure.Require(u.since.Add(minHold)), nil
}

// Unshare takes back what one Share asked for whose call gets no lease.
func (u *Turn) Unshare(minHold time.Duration) { u.Tenure.Drop(u.since.Add(minHold)) }

// Ends returns when the holder must stop: at its deadline, or earlier by MaxHold.
func (u *Turn) Ends() clock.Instant { return min(u.Tenure.Ends(), u.until) }

// Over returns which limit of the turn has passed, its deadline or MaxHold. It returns "" if neither
// has; the turn may have ended for another reason.
func (u *Turn) Over(now clock.Instant) lifetime.Cause {
	switch {
	case now < u.Ends():
		return ""
	case u.until < u.Tenure.Ends():
		return lifetime.MaxHold
	}
	return lifetime.Expired
}

// HasEnded returns how a turn ended; nil: it goes on. It first ends a turn whose
// deadline or MaxHold has passed.
func (u *Turn) HasEnded(now clock.Instant) *Ending {
	if why := u.Over(now); u.Name.turn == u && why != "" {
		u.Name.stop(why, "", now)
	}
	return u.Ended.Load()
}

// RequireUnshared returns an error if several leases share the turn.
func (u *Turn) RequireUnshared() error {
	if u.shares > 1 {
		return wire.Failure(u.Name.Text, nil, fmt.Errorf("%d leases share it (Mutex.Reentrant): release the others before you export it", u.shares))
	}
	return nil
}

// ExportedState is what the adopter of an exported lease has to know.
type ExportedState struct {
	Last  int64  // the highest token that the tenure has reserved
	Leads bool   // it is the term of an Election
	Value string // of a term: its newest value
}

// Export ends a turn and forgets its tenure; Redis keeps the lock key. It fails if the turn has ended,
// if several leases share it, before MinHold has passed, or before Redis has stored a smaller weight. It
// returns ErrReserving while a renewal that reserves tokens has no answer.
func (c *Client) Export(u *Turn, now clock.Instant) (given ExportedState, err error) {
	n, t := u.Name, u.Tenure
	if e := u.HasEnded(now); e != nil {
		return given, e.Err
	}
	if err := u.RequireUnshared(); err != nil {
		return given, err
	}
	if t.CoolUntil > now {
		return given, wire.Failure(n.Text, nil, errors.New("its Mutex.MinHold is not over: export the lease after that"))
	}
	if n.Kind.shrunk.unstored { // nobody would store it later
		return given, wire.Failure(n.Text, nil, errors.New("the smaller weight is not stored in Redis yet: export the lease after that"))
	}
	if t.reservations > 0 {
		return given, ErrReserving
	}
	c.exportedIDs.Add(t.ID, n, now, n.Kind.TTL+time.Minute)
	delete(c.tenures, t.ID)
	t.setPhase(unreleased)
	n.turn, n.tenure = nil, nil
	u.shares = 0 // so that no Release ends the exported hold
	u.end(&Lost{Name: n.Text, Token: u.Token, Cause: lifetime.Exported}, now)
	n.step(now)
	given.Last = t.tokens.Last()
	if n.Kind.Term != nil {
		given.Leads, given.Value = true, n.Kind.newest()
	}
	return given, nil
}

// Settled reports whether no renewal that reserves tokens is under way, or the turn is over.
func (u *Turn) Settled() bool {
	return u.Name.client.Closed || u.Tenure.reservations == 0 || u.Ended.Load() != nil
}

// stolen ends a tenure from which a waiter of this Client has stolen the name.
func (t *Tenure) stolen(reason string, now clock.Instant) {
	if t.phase != holding {
		t.VerifySince = now
		return
	}
	t.name.lose(t, wire.Answer{Word: wire.Stolen, Reason: reason}, now)
	t.name.step(now)
}

// revocationPushed handles a push that a tenure of ours has a revocation. Anybody may publish, so
// a renewal asks Redis. It must be sent after the push.
func (n *Name) revocationPushed(t *Tenure, now clock.Instant) {
	if t.phase != holding {
		t.VerifySince = now
		return
	}
	n.renew(t, now)
	n.step(now)
}

// source returns how the waiter of the newest turn learned of its grant.
func (n *Name) source(w *LocalWaiter) Source {
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

// stop ends a tenure whose holder has to stop: at its deadline, after MaxHold, or when it was
// revoked. The lock key is kept until the lease is
// released, because work may still be stopping. After MaxHold it is kept until Grace has
// passed at most. Without a turn the tenure is released at once.
func (n *Name) stop(why lifetime.Cause, reason string, now clock.Instant) {
	t, u := n.tenure, n.turn
	n.turn = nil
	if u == nil {
		n.client.endTenure(t, now)
		t.startRemoval(now)
	} else {
		t.setPhase(unreleased)
		n.tenure = nil
		n.client.Later(t.GoneBy().Add(n.Kind.TTL), now, t.expire)
		u.end(&Lost{Name: n.Text, Token: u.Token, Cause: why, Reason: reason}, now)
		if wait, ok := t.UnlockAfter(why, u.grace); ok {
			n.client.Later(now.Add(wait), now, u.graceOver)
		}
	}
	n.step(now)
}

// graceOver gives the name back when Grace has passed, unless Release has given it back.
func (u *Turn) graceOver(now clock.Instant) {
	if u.Tenure.phase == unreleased {
		u.releaseStopped(now)
		if u.Announces() { // after the answer: until then Redis says that this candidate leads
			u.removal.of = u
		}
	}
}

// expire ends a tenure that was stopped and not released: its lock key has expired.
func (t *Tenure) expire(now clock.Instant) { t.name.client.endTenure(t, now) }

// releaseStopped gives back the name after its tenure was stopped.
func (u *Turn) releaseStopped(now clock.Instant) {
	u.Name.client.endTenure(u.Tenure, now)
	u.removal = u.Tenure.startRemoval(now)
}
