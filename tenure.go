package holdfast

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/tokens"
)

// phase is where a tenure stands in its life. It only ever moves down this
// list, and an id never serves twice.
type phase int

const (
	asked   phase = iota // lock is on its way, or about to be
	queued               // Redis said that it stands in line
	holding              // granted: this process has the name
	leaving              // unlock was sent
	over                 // ended by its deadline, its lease not released yet
	past                 // ended; remembered for a while, see memory
)

// tenure is one process's hold of a name in Redis, from asking to the end.
// Guarded by the core's mutex, but for what is atomic.
type tenure struct {
	id    string
	line  *line
	phase phase

	// While it is asked for.
	first   clock.Instant // the first request for this id was sent
	pair    exchange      // newest answered request on the present subscription
	score   int64         // arrival, as the server gave it; 0: not in Q yet
	listed  bool          // Redis said that it stands in line; a new place has no reason then
	tried   bool          // a lock that does not wait found the name held
	waits   bool          // a lock that waits was sent
	lost    bool          // a lock was not answered in time, so it may run late; or left something, see lockOvertaken
	strides int16         // renewals on their way that reserve tokens
	open    int           // locks whose answer has not come
	late    clock.Instant // when the newest grant came that was over on arrival; 0: none since it was answered queued
	next    clock.Instant // when to look, as the newest push said
	missed  bool          // and one said that it was taken out of the queue
	recall  bool          // a recall came before the answer that says we hold it

	doubted clock.Instant // since then an answer is wanted whether it is ours: an order was pushed, or, of one that is not renewed, it was asked; 0: none is

	// While it is held.
	deadline atomic.Int64  // clock.Instant at which the holder must stop
	expiry   clock.Instant // by when L would be gone if the script had run when it was sent; it lives longer by the way there
	life     time.Duration // what the script set last: a claim window or the ttl
	renewAt  clock.Instant
	renewal  *request      // in flight, or about to be
	fenced   clock.Instant // when F was last prolonged, at the earliest
	failures int           // renewals in a row that were not answered, or by too few replicas
	sure     bool          // enough replicas have the grant, or none are asked
	replicas atomic.Int32  // that acknowledged what was renewed last
	topped   bool          // renewed because too little life was left for a turn
	heard    bool          // no recall can have gone unheard
	pushed   bool          // its grant came by the subscription
	until    int64         // callers up to this number still get a turn; 0: no recall yet
	turns    int           // given so far
	tokens   tokens.Blocks
	token    int64 // on a quorum: the majority's
	minHold  minHold
	leaving  *farewell     // on a quorum: who has answered unlock
	unlocks  int           // sent so far, cancels too, without those that have surely done nothing
	wanted   clock.Instant // on a quorum: until when another line of this Client has asked again
}

// become moves a tenure on in its life.
func (t *tenure) become(p phase) {
	if t.phase == holding {
		t.line.c.schedule.Held--
	}
	if p == holding {
		t.line.c.schedule.Held++
	}
	t.phase = p
}

// exchange is a pair of times: sent here, answered there.
type exchange struct {
	sent   clock.Instant
	server int64 // microseconds; 0: no pair
}

// pushStart is the start of a life that a pushed grant began at server time
// granted. There was no request, but what is known bounds it from below: the
// newest answered request, plus what passed on the server since, less a
// hundredth for clocks whose rates differ, see end; the first request for this id; the sending
// of the SUBSCRIBE that the push came by. The latest of these is the best, and
// it can't be later than now.
func (t *tenure) pushStart(granted int64, subscribed, now clock.Instant) clock.Instant {
	start := max(t.first, subscribed)
	if t.pair.server > 0 {
		d := time.Duration(granted-t.pair.server) * time.Microsecond
		start = max(start, t.pair.sent.Add(d-d.Abs()/100))
	}
	return min(start, now)
}

// mayStand reports whether Redis may know the id, in L or in Q. It does not when
// all that was ever asked for it is a lock that does not wait, and was refused.
func (t *tenure) mayStand() bool { return t.waits || t.open > 0 }

// slack is the share of the life that is left: below zero it is over.
func (t *tenure) slack(now clock.Instant) float64 {
	return float64(t.ends().Sub(now)) / float64(max(t.life, 1))
}

func (t *tenure) ends() clock.Instant { return clock.Instant(t.deadline.Load()) }

// isOver reports whether what is held has ended, by its deadline or by the MaxHold of its
// turn, whether that was noticed yet or not. Then it is renewed no more.
func (t *tenure) isOver(now clock.Instant) bool {
	if u := t.line.turn; u != nil && u.tenure == t {
		return u.over(now) != ""
	}
	return now >= t.ends()
}

// hold notes a life that Redis confirmed. It never shortens one.
func (t *tenure) hold(start clock.Instant, life time.Duration, jitter func(time.Duration) time.Duration) {
	d := clock.Deadline(start, life)
	if d <= t.ends() {
		return
	}
	t.deadline.Store(int64(d))
	t.expiry = max(t.expiry, start.Add(life))
	t.life = life
	t.renewAt = together(start.Add(life/3-jitter(life/20)), life)
	t.failures = 0
}

// together is the beginning of the short span of time that a moment lies in:
// what is due in one span is renewed at once and shares pipelines. Thousands of
// renewals a second that each travel alone cost several times as much, here and
// in Redis.
func together(when clock.Instant, life time.Duration) clock.Instant {
	return when - when%clock.Instant(max(1, min(life/64, 100*time.Millisecond)))
}
