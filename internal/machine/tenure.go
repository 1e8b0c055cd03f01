package machine

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/tokens"
)

// phase is the state of a tenure. It only ever moves down this
// list, and an id never serves twice.
type phase int

const (
	asked     phase = iota // lock is on its way, or about to be
	queued                 // Redis said that it is in the queue
	holding                // granted: this process has the name
	releasing              // unlock was sent
	over                   // ended by its deadline, its lease not released yet
	past                   // ended; remembered for a while, see memory
)

// Tenure is one process's hold of a name in Redis, from asking to the end. All of it is guarded by
// the engine's mutex, except the atomics. Methods about one phase stand in hold.go, renew.go and
// release.go.
type Tenure struct {
	ID    string
	local *Name
	phase phase

	// While it is asked for.
	firstSent    clock.Instant // the first request for this id was sent
	clockPair    exchange      // newest answered request on the present subscription
	arrival      int64         // in the queue, as the server gave it; 0: not in it yet
	inQueue      bool          // Redis said that it is in the queue; a new place has no reason then
	foundHeld    bool          // a lock that does not wait found the name held
	sentWait     bool          // a lock that waits was sent
	mayRunLate   bool          // a lock was not answered in time, so it may run late; or left something, see outdatedLock
	reservations int16         // renewals on their way that reserve tokens
	openLocks    int           // locks whose answer has not come
	lateGrantAt  clock.Instant // when the newest grant came that was over on arrival; 0: none since it was answered queued
	pollBy       clock.Instant // when to poll, as the newest push said
	requeue      bool          // and one said that it was taken out of the queue
	earlyRecall  bool          // a recall came before the answer that says we hold it

	verifySince clock.Instant // since then Redis has to confirm that it is ours: a revocation was pushed, or a tenure that is not renewed was checked; 0: it need not

	// While it is held.
	deadline       atomic.Int64  // clock.Instant at which the holder must stop
	expiry         clock.Instant // by when the lock key would expire if the script had run when it was sent; it lives longer by the way there
	ttl            time.Duration // what the script set last: a claim window or the ttl
	renewAt        clock.Instant
	renewal        *Request      // in flight, or about to be
	fenceRenewedAt clock.Instant // when the fence key was last prolonged, at the earliest
	failures       int           // renewals in a row that were not answered, or by too few replicas
	confirmed      bool          // enough replicas have the grant, or none are asked
	Replicas       atomic.Int32  // that acknowledged what was renewed last
	toppedUp       bool          // renewed because too little of the ttl was left for a turn
	recallSure     bool          // no recall can have been missed
	pushed         bool          // its grant came by the subscription
	servesUpTo     int64         // waiters up to this number still get a turn; 0: no recall yet
	turns          int           // given so far
	tokens         tokens.Blocks
	minHold        minHold
	unlocks        int // sent so far, cancels too, without those that have surely done nothing
}

// setPhase moves a tenure to its next phase.
func (t *Tenure) setPhase(p phase) {
	if t.phase == holding {
		t.local.p.Schedule.Held--
	}
	if p == holding {
		t.local.p.Schedule.Held++
	}
	t.phase = p
}

// exchange is a pair of times: sent here, answered there.
type exchange struct {
	sent   clock.Instant
	server int64 // microseconds; 0: no pair
}

// pushStart is the start of the ttl that a pushed grant set at server time granted. There was no request, but what is known bounds it from below: the
// newest answered request, plus what passed on the server since, less a
// hundredth for clocks whose rates differ, see clock.Deadline; the first request for this id; the sending
// of the SUBSCRIBE that the push came by. The latest of these is the best, and
// it can't be later than now.
func (t *Tenure) pushStart(granted int64, subscribed, now clock.Instant) clock.Instant {
	start := max(t.firstSent, subscribed)
	if t.clockPair.server > 0 {
		d := time.Duration(granted-t.clockPair.server) * time.Microsecond
		start = max(start, t.clockPair.sent.Add(d-d.Abs()/100))
	}
	return min(start, now)
}

// mayBeInRedis reports whether Redis may have the id, in the lock key or the queue. It does
// not if the only request for it was a lock that does not wait, and was refused.
func (t *Tenure) mayBeInRedis() bool { return t.sentWait || t.openLocks > 0 }

// slack is the share of the ttl that is left: below zero it is over.
func (t *Tenure) slack(now clock.Instant) float64 {
	return float64(t.Ends().Sub(now)) / float64(max(t.ttl, 1))
}

// Ends is the deadline of the holder.
func (t *Tenure) Ends() clock.Instant { return clock.Instant(t.deadline.Load()) }

// isOver reports whether what is held has ended, by its deadline or by the MaxHold of its
// turn, whether that was noticed yet or not. Then it is renewed no more.
func (t *Tenure) isOver(now clock.Instant) bool {
	if u := t.local.turn; u != nil && u.Tenure == t {
		return u.Over(now) != ""
	}
	return now >= t.Ends()
}

// prolong notes a ttl that Redis confirmed. It never shortens one.
func (t *Tenure) prolong(start clock.Instant, ttl time.Duration, jitter func(time.Duration) time.Duration) {
	d := clock.Deadline(start, ttl)
	if d <= t.Ends() {
		return
	}
	t.deadline.Store(int64(d))
	t.expiry = max(t.expiry, start.Add(ttl))
	t.ttl = ttl
	t.renewAt = alignRenewal(start.Add(ttl/3-jitter(ttl/20)), ttl)
	t.failures = 0
}

// alignRenewal is the beginning of the short span of time that a moment lies in:
// what is due in one span is renewed at once and shares pipelines. Thousands of
// renewals a second that each travel alone cost several times as much, here and
// in Redis.
func alignRenewal(when clock.Instant, ttl time.Duration) clock.Instant {
	return when - when%clock.Instant(max(1, min(ttl/64, 100*time.Millisecond)))
}
