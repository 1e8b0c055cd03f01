package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Waiter is one call of Lock or TryLock that has no answer yet.
type Waiter struct {
	Try     bool
	Local   *Name
	number  int64
	since   clock.Instant
	MinHold time.Duration // Mutex.MinHold
	MaxHold time.Duration // Mutex.MaxHold
	Grace   time.Duration // Mutex.Grace
	Call    any           // for the host: the process does not read it
	listed  bool

	prev, after *Waiter
}

// Failure returns the newest error of the store for this name. It returns nil if the store has
// answered since, or if w does not wait any more.
func (w *Waiter) Failure() error {
	if !w.listed || w.Local.failingSince == 0 {
		return nil
	}
	return w.Local.lastErr
}

// Outcome is what a waiter gets: a turn, or an error.
type Outcome struct {
	Turn *Turn
	Err  error
}

// localWaiters are the waiters of one process for one name, in order of arrival.
type localWaiters struct {
	first, last *Waiter
	n           int
	tries       int
}

func (q *localWaiters) push(w *Waiter) {
	w.prev, w.after, w.listed = q.last, nil, true
	if q.last != nil {
		q.last.after = w
	} else {
		q.first = w
	}
	q.last = w
	q.n++
	if w.Try {
		q.tries++
	}
}

func (q *localWaiters) remove(w *Waiter) {
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
	if w.Try {
		q.tries--
	}
}

// anyBlocking reports whether a waiter in this queue blocks.
func (q *localWaiters) anyBlocking() bool { return q.n > q.tries }

// admit puts a waiter at the end of the local queue.
func (n *Name) admit(w *Waiter, now clock.Instant) {
	n.admitted++
	w.Local, w.number, w.since = n, n.admitted, now
	n.waiters.push(w)
}

// rejectTries rejects the TryLock calls, because the name is held.
func (n *Name) rejectTries(now clock.Instant) {
	n.answerTries(func() error { return n.Held(now) })
}

// answerTries answers the TryLock calls. They stand in front, because a TryLock enters only an
// empty local queue.
func (n *Name) answerTries(what func() error) {
	for w := n.waiters.first; w != nil && w.Try; w = n.waiters.first {
		n.waiters.remove(w)
		n.p.Host.Deliver(w, Outcome{Err: what()})
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
		known: true, queued: a.Word == "queued", holder: a.Holder, pttl: a.PTTL,
		waiting: a.Waiting, position: a.Position, at: now,
	}
}

// Held returns a *Held for a TryLock, from what this process knows. It does not ask Redis.
func (n *Name) Held(now clock.Instant) error {
	e := &Held{Name: n.Name, Waiters: n.waiters.n}
	if t := n.tenure; t.phase >= holding {
		e.Owner, e.Remaining = n.Kind.Owner, max(0, t.Ends().Sub(now))
		if n.turn == nil && t.inMinHold(now) {
			e.Cooldown, e.Remaining = true, t.minHold.until.Sub(now)
		}
		return e
	}
	if n.seen.known {
		return n.heldBy(now)
	}
	return e
}

func (n *Name) heldBy(now clock.Instant) error {
	e := &Held{Name: n.Name, Waiters: int(n.seen.waiting), Remaining: n.seen.pttl}
	if id, ours := keyspace.ParseID(n.seen.holder); ours {
		e.Owner = id.Owner
	} else if e.Owner, e.Cooldown = keyspace.CooldownOwner(n.seen.holder); !e.Cooldown {
		e.Foreign = true
	}
	if n.seen.queued {
		e.Waiters = int(n.seen.position)
	}
	if e.Remaining >= 0 { // else the key has no expiry
		e.Remaining = max(0, e.Remaining-now.Sub(n.seen.at))
	}
	return e
}

// A Multi first asks for up to 100 names by one script, which grants all of them or
// none. For each name this is a lock that does not wait, with an id of its own. Only
// the round trip is shared, so each name handles its answer as that of a single lock.
// See docs/protocol.md.

// Group is several names that ask by one script. They are new: this process neither held
// nor wanted them. A name leaves the group with its first answer, or when its waiter has
// given up. The engine's mutex protects it.
type Group struct {
	p      *Process
	names  []*Name
	Asking *Request // the newest that was sent
}

// EnterTogether makes a local name for each name, with one waiter, and asks for all of them by one
// script. keys and waiters have the order of names. Unused must have returned nil for these names.
func (p *Process) EnterTogether(names []string, keys []*keyspace.Keys, waiters []*Waiter, now clock.Instant) *Group {
	g := &Group{p: p}
	for i, name := range names {
		n := p.newName(name, name, keys[i], p.defaultKind)
		n.admit(waiters[i], now)
		n.tenure = p.newTenure(n)
		n.tenure.group = g
		g.names = append(g.names, n)
	}
	g.ask(now)
	for _, n := range g.names {
		n.arm(now)
	}
	return g
}

// Unused returns nil if this process neither holds nor wants any of the names. Otherwise it returns
// ErrOneByOne, or for a try a *Held if one of them is busy. After Close it returns wire.ErrClosed.
func (p *Process) Unused(names []string, try bool, now clock.Instant) (err error) {
	if p.Closed {
		return wire.ErrClosed
	}
	for _, name := range names {
		n := p.names[name]
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
			Call: n.callFor(script.Lock, []string{t.ID}), Local: n, Tenure: t,
			Sent: now, Attempt: g.p.Attempt(), OnAnswer: (*Request).lockAnswered,
		}
		if t.firstSent == 0 {
			t.firstSent = now
		}
		n.askAt = 0
		t.openLocks++
		t.asking = r
		call.Keys, call.Args = append(call.Keys, r.Call.Keys...), append(call.Args, t.ID)
		carried = append(carried, r)
	}
	g.Asking = &Request{Call: call, Parts: carried, Sent: now, Attempt: carried[0].Attempt}
	g.p.Host.Send(g.Asking)
}

// leaveGroup makes a name go on without its group, and reports whether it had one. A caller that
// wanted all names at once gets ErrOneByOne.
func (n *Name) leaveGroup() bool {
	if n.tenure.group == nil {
		return false
	}
	n.tenure.group = nil
	n.answerTries(func() error { return ErrOneByOne })
	return true
}
