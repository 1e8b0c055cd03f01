package machine

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// silentAfter is how long a request has no answer before a call whose context ends gets ErrUnreachable.
const silentAfter = 100 * time.Millisecond

// contact says whether Redis answers this Client about one name. All kinds of the name share it.
type contact struct {
	asked    clock.Instant // when the first request since the newest answer was sent; 0: there was none
	answered clock.Instant // when the newest answer came; 0: never
	failure  error         // of the newest request, if no answer came since it was sent
	held     int           // tenures that hold the name
	names    int           // local names of dedicated and shared kinds that use it, see Client.contacts
}

// join makes a local name share its contact with the other names of the same text, if it or one of
// them is of a dedicated or shared kind.
func (n *Name) join() {
	c := n.client
	if k := c.contacts[n.Text]; k != nil {
		n.contact = k
	}
	if n.Kind == c.defaultKind {
		return
	}
	if plain := c.names[n.Text]; plain != nil {
		n.contact = plain.contact
	}
	n.contact.names++
	c.contacts[n.Text] = n.contact
}

// part is the opposite of join, for a dedicated or shared kind.
func (n *Name) part() {
	if n.contact.names--; n.contact.names == 0 {
		delete(n.client.contacts, n.Text)
	}
}

// sent notes that a request about the name was sent.
func (k *contact) sent(now clock.Instant) {
	if k.asked == 0 {
		k.asked = now
	}
}

// Answered passes an answer on to OnAnswer. On a quorum it is the answer of a majority. For the contact
// a permanent error is an answer, too.
func (r *Request) Answered(a wire.Answer, err error, now clock.Instant) {
	if n := r.Name; n != nil {
		switch k := n.contact; {
		case err == nil || !wire.Transient(err):
			k.asked, k.answered, k.failure = 0, now, nil
		case r.Sent >= k.answered:
			k.failure = err
		}
	}
	r.OnAnswer(r, a, err, now)
}

// Outage returns why the store seems unreachable to a waiter whose context ends now: a request
// about the name has failed or has been out for silentAfter, and no answer came in that time. It returns
// nil if there is no such request, or while this Client holds the name.
func (w *LocalWaiter) Outage(now clock.Instant) error {
	if !w.listed {
		return nil
	}
	n := w.Name
	k, t, held := n.contact, n.tenure, n.contact.held
	if t.phase == holding && !t.acknowledged { // no caller has got it
		held--
	}
	switch {
	case held > 0:
		return nil
	case n.failingSince > 0:
		return n.lastErr
	case k.failure != nil:
		return k.failure
	case k.asked > 0 && now >= k.asked.Add(silentAfter):
		return wire.ErrNoAnswer
	}
	// An answer to another request does not end the wait for this one.
	if r := t.underWay(); r != nil && now >= max(r.Sent, k.answered).Add(silentAfter) {
		return wire.ErrNoAnswer
	}
	return nil
}

// underWay returns the lock or unlock in flight; nil: there is none.
func (t *Tenure) underWay() *Request {
	if t.asking != nil {
		return t.asking
	}
	return t.unlocking
}

// Waited is the error of a call whose context ended while it waited. The host sets Ended and Cause. Outage
// counts only after a deadline: a call that was cancelled did not wait for Redis in vain.
type Waited struct {
	Name              string
	Owner             string // of the holder; empty: unknown, foreign, or there is none
	Foreign, Cooldown bool
	Position          int // 1: the next; 0: unknown
	Waiters           int // with this call, as far as is known
	Took              time.Duration
	Outage            error // see LocalWaiter.Outage
	Ended, Cause      error // of the context
}

func (f *Waited) Error() string { return f.Ended.Error() }

// Rejected adds the error that the call got when its context ended.
func (f *Waited) Rejected(err error) {
	if errors.Is(err, wire.ErrUnreachable) {
		f.Outage = wire.WithoutFailure(err)
	}
}

// Waited returns what this Client knows about a wait that ends now. It does not ask Redis.
func (w *LocalWaiter) Waited(now clock.Instant) *Waited {
	n := w.Name
	f := &Waited{Name: n.Text, Took: now.Sub(w.since)}
	if !w.listed { // its outcome came at the same time
		return f
	}
	f.Outage = w.Outage(now)
	f.Waiters = n.waiters.n
	t := n.tenure
	switch {
	case t.phase >= holding:
		f.Owner = n.Kind.Owner
		if t.phase == holding && (t.servesUpTo == 0 || w.number <= t.servesUpTo) { // else other Clients come first
			f.Position = 1 + n.waiters.before(w)
		}
		f.Cooldown = n.turn == nil && t.CoolUntil > now
	case n.seen.known && (n.seen.at >= t.firstSent || !n.client.Queue): // else this Client held the name since; on a quorum each try is a tenure
		var foreign bool
		f.Owner, f.Cooldown, foreign = n.seen.label()
		f.Foreign = foreign && n.seen.holder != ""
		if n.seen.queued {
			f.Position = int(n.seen.position) + 1 + n.waiters.before(w)
			f.Waiters += int(n.seen.position)
		} else {
			f.Waiters += int(n.seen.waiting)
		}
	}
	return f
}

// mostCounted bounds how many waiters before counts one by one.
const mostCounted = 128

// before returns how many waiters stand in front of w. With more than mostCounted it also counts
// those that have left.
func (q *localQueue) before(w *LocalWaiter) int {
	n := 0
	for p := w.prev; p != nil; p = p.prev {
		if n++; n == mostCounted {
			return min(q.n-1, n+int(p.number-q.first.number))
		}
	}
	return n
}
