package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// LocalWaiter is one call of Lock or TryLock that has no answer yet.
type LocalWaiter struct {
	lifetime.Limits
	Try    bool
	Name   *Name
	number int64
	since  clock.Instant
	Call   any // for the host: the Client does not read it
	listed bool

	prev, after *LocalWaiter
}

// Outcome is what a waiter gets: a turn, or an error.
type Outcome struct {
	Turn *Turn
	Err  error
}

// localQueue has the waiters of one Client for one name, in order of arrival.
type localQueue struct {
	first, last *LocalWaiter
	n           int
	admitted    int64 // waiters so far: numbers the next one
}

func (q *localQueue) push(w *LocalWaiter) {
	q.admitted++
	w.number, w.prev, w.after, w.listed = q.admitted, q.last, nil, true
	if q.last != nil {
		q.last.after = w
	} else {
		q.first = w
	}
	q.last = w
	q.n++
}

func (q *localQueue) remove(w *LocalWaiter) {
	if w.prev != nil {
		w.prev.after = w.after
	} else {
		q.first = w.after
	}
	if w.after != nil {
		w.after.prev = w.prev
	} else {
		q.last = w.prev
	}
	w.prev, w.after, w.listed = nil, nil, false
	q.n--
}

// anyBlocking reports whether a waiter in this queue blocks. A TryLock enters only an empty queue, so it
// is the first.
func (q *localQueue) anyBlocking() bool { return q.last != nil && !q.last.Try }

// answerTry answers a TryLock call, if there is one. If err is nil, the name is held.
func (n *Name) answerTry(err error, now clock.Instant) {
	if w := n.waiters.first; w != nil && w.Try {
		n.waiters.remove(w)
		if err == nil {
			err = n.Held(now)
		}
		n.client.Host.Deliver(w, Outcome{Err: err})
	}
}

// lastSeen is what the newest answer said about the holder. Most local names have none, and
// an answer is large.
type lastSeen struct {
	known    bool
	queued   bool          // the id that asked is in the queue
	holder   string        // the value of the lock key
	pttl     time.Duration // of the lock key; negative: no expiry
	waiting  int64         // ids in the queue, if the one that asked is not among them
	position int64         // in the queue, if it is; 0 is the head
	at       clock.Instant // when the answer came
}

func seenIn(a wire.Answer, now clock.Instant) lastSeen {
	return lastSeen{
		known: true, queued: a.Word == wire.Queued, holder: a.Holder, pttl: a.PTTL,
		waiting: a.Waiting, position: a.Position, at: now,
	}
}

// Held returns a *Held for a TryLock, from what this Client knows. It does not ask Redis.
func (n *Name) Held(now clock.Instant) error {
	e := &Held{Name: n.Text, Waiters: n.waiters.n}
	if t := n.tenure; t.phase >= holding {
		e.Owner, e.Remaining = n.Kind.Owner, max(0, t.Ends().Sub(now))
		if n.turn == nil && t.CoolUntil > now {
			e.Cooldown, e.Remaining = true, t.CoolUntil.Sub(now)
		}
		return e
	}
	if n.seen.known {
		return n.seen.held(n.Text, now)
	}
	return e
}

// label returns what the value of the lock key says about the holder. foreign: another program wrote it.
func (s *lastSeen) label() (owner string, cooldown, foreign bool) {
	if id, ours := keyspace.ParseID(s.holder); ours {
		return id.Owner, false, false
	}
	owner, cooldown = keyspace.CooldownOwner(s.holder)
	return owner, cooldown, !cooldown
}

func (s *lastSeen) held(name string, now clock.Instant) error {
	e := &Held{Name: name, Waiters: int(s.waiting), Remaining: s.pttl}
	e.Owner, e.Cooldown, e.Foreign = s.label()
	if s.queued {
		e.Waiters = int(s.position)
	}
	if e.Remaining >= 0 { // else the key has no expiry
		e.Remaining = max(0, e.Remaining-now.Sub(s.at))
	}
	return e
}

// A Multi first asks for up to 100 names by one script, which grants all of them or
// none. For each name this is a lock that does not wait, with an id of its own. Only
// the round trip is shared, so each name handles its answer as that of a single lock.
// See docs/protocol.md.

// Group is several names that ask by one script. They are new: this Client neither held
// nor wanted them. A name leaves the group with its first answer, or when its waiter has
// given up. The engine's mutex protects it.
type Group struct {
	client *Client
	names  []*Name
	Asking *Request // the newest that was sent
}

// EnterTogether makes a local name for each name, with one waiter, and asks for all of them by one
// script. keys and waiters have the order of names. Unused must have returned nil for these names.
func (c *Client) EnterTogether(names []string, keys []*keyspace.Keys, waiters []*LocalWaiter, now clock.Instant) *Group {
	g := &Group{client: c}
	for i, name := range names {
		n := c.newName(name, name, keys[i], c.defaultKind)
		waiters[i].Name, waiters[i].since = n, now
		n.waiters.push(waiters[i])
		n.tenure = c.newTenure(n)
		n.tenure.group = g
		g.names = append(g.names, n)
	}
	g.ask(now)
	for _, n := range g.names {
		n.arm(now)
	}
	return g
}

// Unused returns nil if this Client neither holds nor wants any of the names. Otherwise it returns
// ErrOneByOne, or for a try a *Held if one of them is busy. After Close it returns wire.ErrClosed.
func (c *Client) Unused(names []string, try bool, now clock.Instant) (err error) {
	if c.Closed {
		return wire.ErrClosed
	}
	for _, name := range names {
		n := c.names[name]
		if n != nil && try && n.busy() {
			return n.Held(now)
		}
		if n != nil {
			err = ErrOneByOne
		}
	}
	return err
}

// ask sends the script for all names that are still in the group: the first
// time, or once more, with the same ids.
func (g *Group) ask(now clock.Instant) {
	call := driver.Call{Script: script.MultiLock}
	var carried []*Request
	for _, n := range g.names {
		t := n.tenure
		if t == nil || t.group != g {
			continue
		}
		r := &Request{
			Call: n.callFor(script.Lock, []string{t.ID}), Name: n, Tenure: t, locks: t.ID,
			Sent: now, Attempt: g.client.Attempt(), OnAnswer: (*Request).groupAnswered,
		}
		if t.firstSent == 0 {
			t.firstSent = now
		}
		n.askAt = 0
		n.contact.sent(now)
		t.openLocks++
		t.asking = r
		call.Keys, call.Args = append(call.Keys, r.Call.Keys...), append(call.Args, t.ID)
		carried = append(carried, r)
	}
	g.Asking = &Request{Call: call, Parts: carried, Sent: now, Attempt: carried[0].Attempt, SharesLimit: true}
	g.client.Host.Send(g.Asking)
}

// groupAnswered takes the answer to a lock that a group carried. After the first answer the name goes
// on alone. If the answer is passed or an error, it may be about another name: the caller wanted all
// names at once, and gets ErrOneByOne.
func (r *Request) groupAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Name, r.Tenure
	_, refused := wire.AsServerError(err)
	if t.phase > queued || err != nil && (!refused || t.asking != r) {
		r.lockAnswered(a, err, now)
		return
	}
	t.group = nil
	if a.Word == wire.Passed || refused {
		n.answerTry(ErrOneByOne, now)
	}
	switch {
	case a.Word == wire.Passed:
		t.openLocks--
		n.failingSince = 0
	case refused && !wire.Transient(err):
		t.refusedUnwritten(err)
	default:
		r.lockAnswered(a, err, now)
		return
	}
	if t.asking == r {
		t.asking = nil
	}
	n.step(now) // the other local waiters ask for this name alone
}
