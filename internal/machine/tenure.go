package machine

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/tokens"
)

// phase is the state of a tenure. A tenure only moves down this list, and its id is not used again.
type phase int

const (
	asked      phase = iota // lock was sent, or will be
	queued                  // Redis said that it is in the queue
	holding                 // granted: this Client has the name
	releasing               // unlock was sent
	unreleased              // ended by deadline, MaxHold or revocation, and the lease is not released yet; or exported
	ended                   // only its id is remembered for a while, see Client.endTenure
)

// Tenure is one Client's possession of a name in Redis, from the first request to the end. The
// engine's mutex protects it, except the atomics.
//
// Fields of one phase stand in a struct that setPhase clears at the end of the phase. The structs are
// values, not pointers: pointers would cost three more allocations for a lock and its release.
type Tenure struct {
	ID                string
	name              *Name
	phase             phase
	lifetime.Lifetime // when it must have ended, here and in Redis
	whileAsked
	whileHolding
	whileReleasing

	openLocks  int           // locks whose answer has not come
	mayRunLate bool          // a lock without an answer may still run
	tokens     tokens.Blocks // of all its grants, also of one that came too late
	servesUpTo int64         // waiters up to this number still get a turn; 0: no recall yet
	Replicas   atomic.Int32  // how many acknowledged the last renewal
}

// whileAsked has the fields of a tenure before its grant.
type whileAsked struct {
	asking      *Request      // lock in flight
	group       *Group        // it asks as part of this group; nil: alone
	firstSent   clock.Instant // when the first request for this id was sent
	mayBeStored bool          // a lock that waits was sent, or an unlock that queues the id
	foundHeld   bool          // a lock that does not wait found the name held
	arrival     int64         // in the queue, as the server gave it; 0: not in it yet
	clockPair   exchange      // of the newest answer queued on the present subscription
	pollBy      clock.Instant // poll at that time at the latest, as the newest push said; 0: no push
	requeue     bool          // a push said that the id was taken out of the queue
	earlyRecall bool          // a recall came before the answer that says we hold it
	lateGrantAt clock.Instant // when a grant last arrived too late; 0: never since the newest answer queued
}

// whileHolding has the fields of a tenure that has the name, until its deadline.
type whileHolding struct {
	renewKeys      []string      // of its renewals
	renewal        *Request      // in flight, or about to be
	reservations   int16         // renewals on their way that reserve tokens
	fenceRenewedAt clock.Instant // when the fence key was last prolonged, at the earliest
	acknowledged   bool          // enough replicas have the grant, or WaitReplicas is 0
	recallSure     bool          // no recall can have been missed
	pushed         bool          // its grant came by the subscription
	toppedUp       bool          // it was renewed, because too little of the ttl was left for a turn
	turns          int           // given so far
}

// whileReleasing has the fields of a tenure from its first unlock to the answer.
type whileReleasing struct {
	unlocking       *Request      // unlock in flight
	unlocks         int           // unlocks and cancels sent so far, except those that certainly changed nothing
	successor       *Tenure       // whose id this unlock queues; nil: none
	awaitedTurn     *Turn         // the turn whose Release waits for unlock; nil: none
	releaseDeadline clock.Instant // until when Release waits for the answer
}

func (c *Client) newTenure(n *Name) *Tenure {
	t := &Tenure{ID: keyspace.NewID(c.idPrefix, c.Random, n.Kind.idSuffix), name: n, Lifetime: lifetime.Lifetime{Terms: &n.Kind.Terms}}
	c.tenures[t.ID] = t
	return t
}

// endTenure is the last step of each way in which a tenure ends: from now on its id is only
// remembered.
func (c *Client) endTenure(t *Tenure, now clock.Instant) {
	if t.phase == ended {
		return
	}
	of := t.name
	if of.Kind.scripts != nil {
		of = of.remembered(now)
	}
	if t.phase < holding && t.mayBeInRedis() {
		c.givenUpIDs.Add(t.ID, of, now, of.Kind.TTL+protocol.QueueTTL)
	} else {
		c.endedIDs.Add(t.ID, of, now, of.Kind.TTL+time.Minute)
	}
	if t.CoolUntil > now { // until then no cancel may give the name away
		c.coolDowns.Add(t.ID, t.CoolUntil, now, t.CoolUntil.Sub(now))
	}
	delete(c.tenures, t.ID)
	held := t.phase >= holding
	t.setPhase(ended)
	if held && t.mayRunLate { // an earlier lock may still run
		c.cancelTenure(t, now)
	}
	if n := t.name; n.tenure == t {
		n.tenure = nil
	}
}

// remembered returns the part of a local name of a shared kind that the cleanup of its ids needs. A
// Client may remember more than 10,000 ids. Each has a local name of its own, so the remembered ids of
// one name share one.
func (n *Name) remembered(now clock.Instant) *Name {
	r := n.client.remembered.Of(n.Text, now, func() *Name {
		k := &Kind{Owner: n.Kind.Owner, Terms: n.Kind.Terms, Letter: n.Kind.Letter, capacity: n.Kind.capacity, scripts: n.Kind.scripts, keys: n.Kind.keys}
		return &Name{client: n.client, Text: n.Text, Kind: k, Keys: n.Keys, shard: n.shard}
	})
	r.contact = n.contact
	return r
}

// setPhase moves a tenure to its next phase, and clears the fields of the last one.
func (t *Tenure) setPhase(p phase) {
	switch t.phase {
	case asked, queued:
		if p > queued {
			t.whileAsked = whileAsked{}
		}
	case holding:
		t.name.client.Schedule.Held--
		t.name.contact.held--
		t.whileHolding = whileHolding{}
	case releasing:
		t.whileReleasing = whileReleasing{}
	}
	if p == holding {
		t.name.client.Schedule.Held++
		t.name.contact.held++
	}
	t.phase = p
}

// exchange is the time at which a request was sent here, and the time of its answer at the server.
type exchange struct {
	sent   clock.Instant
	server int64 // microseconds; 0: no pair
}

// pushStart returns the start of the ttl that a pushed grant set at server time granted, in
// microseconds. A push answers no request, so pushStart returns the latest of three lower bounds,
// at most now:
//   - when the first request for this id was sent;
//   - when the SUBSCRIBE that delivered the push was sent: subscribed;
//   - when the request of clockPair was sent, plus the server's time since then, less 1 % for clocks
//     whose rates differ, see clock.Deadline.
func (t *Tenure) pushStart(granted int64, subscribed, now clock.Instant) clock.Instant {
	start := max(t.firstSent, subscribed)
	if t.clockPair.server > 0 {
		d := time.Duration(granted-t.clockPair.server) * time.Microsecond
		start = max(start, t.clockPair.sent.Add(d-d.Abs()/100))
	}
	return min(start, now)
}

// mayBeInRedis reports whether Redis may have the id, in the lock key or the queue. After one
// refused lock that does not wait, Redis does not have it.
func (t *Tenure) mayBeInRedis() bool { return t.mayBeStored || t.openLocks > 0 }
