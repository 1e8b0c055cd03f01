package machine

import (
	"cmp"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Name is one name in this Client: the local waiters, in order, and the one tenure by which the
// Client asks for it, holds it or releases it.
type Name struct {
	client    *Client
	key       string // in Client.names: the name; for a dedicated or shared kind with a number
	Text      string
	Kind      *Kind
	Keys      *keyspace.Keys
	shard     string // suffix of its sharded channels; empty outside a Cluster
	sub       *Subscriber
	nextOnSub *Name // list of the names that share sub; unused outside a Cluster
	prevOnSub *Name

	waiters localQueue
	tenure  *Tenure // nil: the name is not asked for
	turn    *Turn   // the present turn; nil: there is none

	askAt               clock.Instant // when to send lock again, or unlock while releasing; 0: now
	failingSince        clock.Instant // since when requests fail; 0: they do not
	lastErr             error         // the error of the newest one
	backoff             time.Duration
	unacknowledgedSince clock.Instant // since when the replicas do not acknowledge a grant; 0: they do, or there is none
	seen                lastSeen      // the holder, as far as is known
	NotBatched          bool          // lock_batch did nothing for it: it is not in a batch any more
	listed              bool          // in Client.names, until it is forgotten
	orphan              orphan
	contact             *contact      // whether Redis answers about it
	ownContact          contact       // unless it shares that of another local name
	Place               *ballot.Place // on a quorum: where it asks from
	timer               clock.Timer
}

// Enter puts a waiter into the local queue of a name. own is nil for the kind of the Client. A
// dedicated or shared kind has a local name for this waiter alone. Enter returns the lock in
// flight for the name; nil: there is none.
//
// The error is wire.ErrClosed, a *BadName, or, if w.Try is set and the name is in use in this
// Client, a *Held.
func (c *Client) Enter(name string, own *Kind, w *LocalWaiter, now clock.Instant) (*Request, error) {
	if c.Closed {
		return nil, wire.ErrClosed
	}
	key := name
	if own != nil {
		key = c.dedicatedKey(name)
	}
	n := c.names[key]
	if n == nil {
		k, err := keyspace.KeysOf(c.Prefix, name)
		if err != nil {
			return nil, &BadName{name, err.Error()}
		}
		n = c.newName(key, name, k, cmp.Or(own, c.defaultKind))
		if c.NotBefore != nil {
			n.askAt = c.NotBefore(name)
		}
	} else if w.Try && n.busy() {
		return nil, n.Held(now)
	}
	w.Name, w.since = n, now
	n.waiters.push(w)
	if n.tenure != nil {
		n.joined(now)
	}
	n.step(now)
	return n.tenure.asking, nil
}

// dedicatedKey returns a new key in Client.names. No name has a control character.
func (c *Client) dedicatedKey(name string) string {
	c.lastDedicated++
	return name + "\x00" + strconv.FormatInt(c.lastDedicated, 36)
}

// joined sees to it that a recall is noticed, because a further waiter has joined a tenure.
func (n *Name) joined(now clock.Instant) {
	if n.turn != nil || n.waiters.n > 1 {
		n.sub.open() // before a second turn is given
	}
	if t := n.tenure; t.phase == holding {
		n.renewForRecalls(t, now)
	}
}

// newName makes a local name.
func (c *Client) newName(key, name string, keys *keyspace.Keys, k *Kind) *Name {
	n := &Name{client: c, key: key, Text: name, Kind: k, Keys: keys, sub: c.sub, listed: true}
	if k.scripts != nil {
		k.setKeys(keys)
	}
	if n.sub == nil {
		c.sharedSubs.add(n)
	}
	n.timer = clock.Timer{Fire: n.tick}
	if n.contact = &n.ownContact; k != c.defaultKind || len(c.contacts) > 0 {
		n.join()
	}
	c.names[key] = n
	return n
}

// busy reports whether this Client uses or wants the name, so that a TryLock need not ask Redis.
func (n *Name) busy() bool { return n.waiters.n > 0 || n.turn != nil }

// Abandon removes a waiter whose call does not wait any longer. It returns the tenure that this call
// left in Redis, for AwaitLeftover. It returns nil if there is none, or if Settings.Queue is false:
// then the cleanup runs in the background.
func (c *Client) Abandon(w *LocalWaiter, now clock.Instant) *Tenure {
	if !w.listed {
		return nil
	}
	n := w.Name
	t := n.tenure
	n.waiters.remove(w)
	n.step(now)
	switch {
	case !c.Queue || n.waiters.n > 0:
	case t.phase == releasing && t.successor != nil: // its unlock queues the successor
		return t.successor
	case t.phase == ended || t.phase == releasing: // releasing: it was not acknowledged yet
		return t
	}
	return nil
}

// InUse reports whether there is any local name.
func (c *Client) InUse() bool { return len(c.names) > 0 }

// Each calls visit for each local name that has a turn or waiters; held is 0 or 1. A name that is
// asked for as several kinds is visited once for each.
func (c *Client) Each(visit func(name string, held, waiting int)) {
	for _, n := range c.names {
		held := 0
		if u := n.turn; u != nil && u.Ended.Load() == nil {
			held = 1
		}
		if held+n.waiters.n > 0 {
			visit(n.Text, held, n.waiters.n)
		}
	}
}

// step does what is due: it asks for the name, serves the next local waiter, or forgets the name.
// Then it sets the timer.
func (n *Name) step(now clock.Instant) {
	if n.client.Closed {
		return
	}
	t := n.tenure
	if n.waiters.n == 0 && (t == nil || t.phase < holding) {
		n.forget(now)
		return
	}
	if t == nil {
		t = n.client.newTenure(n)
		n.tenure = t
	}
	switch t.phase {
	case asked:
		n.ask(now)
	case holding:
		n.serve(now)
	}
	n.arm(now)
}

// forget ends a local name that nobody wants. A tenure that was asked for is given up.
func (n *Name) forget(now clock.Instant) {
	if t := n.tenure; t != nil {
		n.giveUp(t, now)
	}
	n.client.Schedule.Stop(&n.timer)
	n.client.Schedule.Relax(now)
	if n.listed {
		n.listed = false
		delete(n.client.names, n.key)
		if n.Kind != n.client.defaultKind {
			n.part()
		}
		if n.shard != "" {
			n.client.sharedSubs.remove(n)
		}
	}
}

// giveUp ends a tenure before it was granted: its id is cancelled, now and
// each time that Redis shows it again.
func (n *Name) giveUp(t *Tenure, now clock.Instant) {
	mayBeInRedis := t.mayBeInRedis()
	n.client.endTenure(t, now)
	n.askAt = 0
	if mayBeInRedis {
		n.client.cancelTenure(t, now)
	}
}

// serve gives a turn to the next local waiter, or renews, lingers or releases the name.
func (n *Name) serve(now clock.Instant) {
	t := n.tenure
	if why := n.over(now); why != "" {
		n.stop(why, "", now)
		return
	}
	w := n.waiters.first
	switch {
	case !t.acknowledged:
		n.awaitAcknowledged(t, now)
	case n.turn != nil:
	case w == nil && n.Kind.lingers && t.servesUpTo == 0 && t.CoolUntil <= now && n.lingering(now):
	case w == nil,
		t.servesUpTo > 0 && w.number > t.servesUpTo, // the waiters from before the recall are served
		t.turns > 0 && !t.recallSure:                // a recall may have been missed: ask Redis again
		n.sendRelease(now)
	default:
		if step := t.BeforeTurn(w.Limits, now); step == lifetime.GiveTurn {
			n.giveTurn(w, now)
		} else {
			n.prepareTurn(step, now)
		}
	}
}

// prepareTurn does what a tenure needs before its next turn.
func (n *Name) prepareTurn(step lifetime.Step, now clock.Instant) {
	t := n.tenure
	switch {
	case step == lifetime.Release:
		n.sendRelease(now)
	case step == lifetime.Renew:
		t.acknowledged = false
		n.awaitAcknowledged(t, now)
	case t.renewal != nil: // TopUp is under way: a local waiter must not get a lease that is nearly over
	case t.toppedUp && t.Failures == 0: // that did not help, so the ttl is too short
		n.tooSlow(now, now.Sub(t.Ends().Add(-t.TTL)))
	default:
		t.toppedUp = true
		n.renewSoon(t, now)
	}
}

// over returns which limit of the tenure that holds has passed, its deadline or the MaxHold of its
// turn, although the phase is still holding. It returns "" if neither has. Such a tenure must not be
// renewed.
func (n *Name) over(now clock.Instant) lifetime.Cause {
	switch {
	case n.turn != nil:
		return n.turn.Over(now)
	case now >= n.tenure.Ends():
		return lifetime.Expired
	}
	return ""
}

// lingering reports whether an idle tenure is to be kept.
func (n *Name) lingering(now clock.Instant) bool {
	t := n.tenure
	if t.LingerUntil == 0 {
		t.toppedUp = false
		t.LingerUntil = now.Add(n.client.Linger)
		n.sub.open() // or a recall would be missed
		n.renewForRecalls(t, now)
	}
	return now < t.LingerUntil
}

// giveTurn gives a local waiter a turn, with the next token. If no token is left, it renews first.
func (n *Name) giveTurn(w *LocalWaiter, now clock.Instant) {
	t := n.tenure
	token, ok := t.tokens.Take()
	if !ok || t.turns > 0 && t.tokens.Wanted() > 0 {
		n.renewSoon(t, now)
	}
	if !ok {
		return // the answer to the renewal calls serve again
	}
	n.waiters.remove(w)
	t.turns++
	t.toppedUp, t.LingerUntil = false, 0
	u := &Turn{Name: n, Tenure: t, Token: token, since: now, until: clock.Never, shares: 1}
	if w.Limits != (lifetime.Limits{}) || t.Terms.NoRenew { // most turns have none of them
		u.until, u.grace = t.StartTurn(w.Limits, now)
	}
	n.turn = u
	if n.client.ShowsDetails {
		n.client.Host.ShowDetails()
	}
	if n.client.Events {
		n.noteGranted(w, now)
	}
	n.client.Host.Deliver(w, Outcome{Turn: u})
}

// noteGranted is a function of its own, because an Event needs much of the stack.
func (n *Name) noteGranted(w *LocalWaiter, now clock.Instant) {
	n.client.Host.Note(Event{What: TurnGranted, Name: n.Text, Holder: n.Kind.Owner, Token: n.turn.Token, Took: now.Sub(w.since), Letter: n.Kind.Letter, Source: n.source(w)})
}

// recalled notes that another client waits. The present local waiters still get turns,
// then the name is released.
func (n *Name) recalled(t *Tenure) {
	if t.servesUpTo == 0 && !n.Kind.oneTurn {
		t.servesUpTo = max(1, n.waiters.admitted)
		n.client.Host.Note(Event{What: NameRecalled, Name: n.Text})
	}
}

// tooSlow rejects the local waiters and ends the tenure, because grants are over when they arrive.
func (n *Name) tooSlow(now clock.Instant, roundTrip time.Duration) {
	err := &TooSlow{Name: n.Text, TTL: n.Kind.TTL, RoundTrip: roundTrip}
	n.reject(err)
	if n.tenure.phase == holding {
		n.sendRelease(now)
		return
	}
	n.forget(now)
}

// reject ends all waiting calls with an error.
func (n *Name) reject(err error) {
	for w := n.waiters.first; w != nil; w = n.waiters.first {
		n.waiters.remove(w)
		n.client.Host.Deliver(w, Outcome{Err: err})
	}
}

// tick does what is due when the timer of the local name fires.
func (n *Name) tick(now clock.Instant) {
	if n.client.Closed {
		return
	}
	t := n.tenure
	if r := t.asking; (r == nil || r.Sent == now) && t.unlocking == nil { // now: another name of its group has just asked
		n.excludeSleep(n.timer.When(), now)
	}
	switch t.phase {
	case asked, queued:
		if r := t.asking; r != nil && now >= r.Sent.Add(r.Attempt) {
			t.asking = nil
			n.failed(wire.ErrNoAnswer, r.Sent, now)
		} else if n.failingSince > 0 && now >= n.failingSince.Add(n.client.Patience()) {
			n.failed(n.lastErr, now, now)
		}
		if n.tenure == t && t.phase == queued && t.asking == nil && now >= n.askAt && n.waiters.n > 0 {
			n.sendLock(now)
		}
	case holding:
		if now >= n.subscribeAt(t) {
			n.sub.open()
		}
		if now >= t.RenewAt {
			n.renew(t, now)
		}
	case releasing:
		n.tickReleasing(now)
	}
	n.step(now)
}

// arm sets the timer to the earliest moment at which something is to be done.
func (n *Name) arm(now clock.Instant) {
	if !n.listed {
		return
	}
	t := n.tenure
	when := clock.Never
	at := func(i clock.Instant) { when = min(when, i) }
	switch t.phase {
	case asked, queued:
		if t.asking != nil {
			at(t.asking.Sent.Add(t.asking.Attempt))
		} else if t.phase == queued || n.askAt > now {
			at(n.askAt)
		}
		if n.failingSince > 0 {
			at(n.failingSince.Add(n.client.Patience()))
		}
	case holding:
		at(t.Ends())
		at(t.RenewAt)
		at(n.subscribeAt(t))
		if u := n.turn; u != nil {
			at(u.until)
		}
		if t.LingerUntil > 0 && n.waiters.n == 0 {
			at(t.LingerUntil)
		}
	case releasing:
		when = n.whenReleasing()
	}
	if when == clock.Never {
		n.client.Schedule.Stop(&n.timer)
		return
	}
	n.client.Schedule.Set(&n.timer, max(when, now), now)
}
