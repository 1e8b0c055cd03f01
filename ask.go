package holdfast

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/tokens"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var strideText = itoa(tokens.FirstBlock)

const asleep = time.Second // a poll that is this late shows that the process was frozen

// ask sends the first lock for an id, or the first that waits.
func (l *line) ask(now clock.Instant) {
	if q := l.c.quorum; q != nil {
		q.ask(l, now)
		return
	}
	switch {
	case l.asking != nil || now < l.askAt:
	case l.bundle != nil:
		l.bundle.ask(now)
	case l.tenure.tried && !l.wake.up && !l.wake.refused:
		l.wake.want() // and step again when it is confirmed
	default:
		l.sendLock(now)
	}
}

// sendLock asks Redis for the name. It joins the line only while our
// subscription is confirmed: a waiter that nobody can call is a dead one.
func (l *line) sendLock(now clock.Instant) {
	t := l.tenure
	s, args := script.Lock, []string{t.id, strideText}
	if l.shared != nil {
		args[1] = itoa(l.shared.capacity)
	}
	if x := l.adopts; x != nil {
		s, args = script.Adopt, append(args, x.ID, itoa(x.Last))
	} else if x := l.takes; x != nil {
		s, args = script.Take, append(args, x.args(l)...)
	} else if x := l.starts; x != nil {
		s, args = script.OnceLock, append(args, x.args(l)...)
	} else if l.callers.waits() && l.wake.up {
		t.waits = true
		args = append(args, "wait", itoa(t.score), l.shard) // if it is not in the queue any more, it comes back to its place
	} else if l.shard != "" || l.shared != nil {
		args = append(args, "try", "0", l.shard)
	}
	if t.first == 0 {
		t.first = now
	}
	l.askAt = 0
	t.open++
	l.asking = l.c.send(s, l, t, now, args, (*request).lockAnswered)
}

// overdue: lock was not answered in time.
func (l *line) overdue(r *request, now clock.Instant) {
	if l.c.quorum != nil {
		l.ballot.decide(now)
		return
	}
	l.asking = nil
	l.failed(wire.ErrNoAnswer, r.sent, now)
}

func (r *request) lockAnswered(a wire.Answer, err error, now clock.Instant) {
	l, t := r.line, r.tenure
	defer l.c.saidGoodbye(t.id)
	if err == nil {
		t.open--
	}
	l.sized(a)
	if r.overtaken() {
		l.lockOvertaken(t, err, now)
		return
	}
	newest := l.asking == r
	if newest {
		l.asking = nil
	}
	asking := l.tenure == t && t.phase <= queued
	ended := t.phase == leaving || t.phase == past // it may have run after the unlock or the cancel
	switch {
	case err != nil:
		_, refused := wire.AsServerError(err)
		t.lost = t.lost || wire.MayStillRun(err)
		l.refusedUnwritten(t, err)
		if newest && asking {
			if together := refused && l.unbundle(); !together || wire.Transient(err) { // else it may be about another name
				l.failed(err, r.sent, now)
			}
			l.step(now)
		} else if ended && !refused {
			l.c.cancelFor(t, now)
		}
		return
	case a.Word == "granted":
		l.lockGranted(r, a, now)
		return
	case ended && (a.Word == "queued" || a.Word == "again"):
		l.c.cancelID(t.id, l, now)
		return
	case !asking:
		return
	}
	l.failing = 0
	l.c.ghost(a.Holder, now) // a failover brought it back
	if a.Word == "passed" {
		l.unbundle()
	}
	l.bundle = nil
	switch a.Word {
	case "passed": // who else stands here asks for this name alone
	case "held":
		l.refused(a, now)
	case "queued":
		l.queued(t, a, r.sent, now)
	case "again":
		l.sendLock(now)
	case "not due":
		l.tellTries(func() error { return errNotDueNow })
	case "lost", "revoked", "stolen":
		l.notAdopted(a)
	case "not held":
		l.notTaken(a)
	case "other kind":
		l.otherKind(a)
	case "too many":
		l.tooMany(a)
	default:
		l.failed(fmt.Errorf("lock was answered %q", a.Word), r.sent, now)
	}
	l.step(now)
}

func (l *line) lockGranted(r *request, a wire.Answer, now clock.Instant) {
	if x := l.takes; x != nil && l.c.tenures[x.id] != nil { // it was our own
		l.c.tenures[x.id].stolen(x.reason, now)
	}
	l.c.granted(r.tenure, grant{
		base: a.Base, size: a.Size, waiting: a.Waiting,
		start: r.sent, life: l.ttl(), heard: l.wake.heardSince(r.sent),
	}, now)
}

// refusedUnwritten: Redis refused a lock before its first write. If that was all that was
// ever asked for the id, Redis does not know it and nothing is to be cancelled.
func (l *line) refusedUnwritten(t *tenure, err error) {
	if !wire.Unwritten(err) {
		return
	}
	t.open--
	if t.open == 0 && !t.lost && t.late == 0 && t.score == 0 && l.fresh != t {
		t.waits = false
	}
}

// refused: a lock that does not wait found the name held.
func (l *line) refused(a wire.Answer, now clock.Instant) {
	l.tenure.tried = true
	l.seen = seenIn(a, now)
	l.rejectTries(now)
	if l.tenure.phase == queued || l.wake.refused && !l.wake.up { // while the subscription is broken
		l.wake.want()
		l.askAt = now.Add(l.poll(0))
	}
}

// queued notes a place in the line and when to look again.
func (l *line) queued(t *tenure, a wire.Answer, sent, now clock.Instant) {
	moved := a.Inserted && t.listed && !t.missed
	anew := a.Inserted && !t.listed
	t.phase, t.listed, t.score, t.late = queued, true, a.Score, 0
	l.seen = seenIn(a, now)
	if l.wake.heardSince(sent) && sent >= t.pair.sent {
		t.pair = exchange{sent: sent, server: a.Server}
	}
	l.rejectTries(now)
	l.c.showDetails(now)
	lonely := !a.Listening || moved
	if lonely && l.wake.heardSince(sent) {
		l.wake.doubt(now)
	}
	l.askAt = now.Add(l.lookAgain(a, lonely, now))
	if t.next > now {
		l.askAt = min(l.askAt, t.next)
	}
	if t.missed || l.wake.up && !l.wake.heardSince(sent) { // the answer may be older than that push, or than the subscription
		t.missed, t.listed, l.askAt = false, false, now
	}
	l.c.emit(Queued{Name: l.name, Position: int(a.Position), Holder: labelOf(a.Holder), Remaining: a.PTTL, Joined: anew})
}

// A waiter asks again by itself when the holder's time is over, and so much later for
// each waiter in front of it: all of them may be dead. So very many do not ask at once,
// and the scripts of n waiters grow with the logarithm of n. See docs/protocol.md.
const (
	lookEach    = 50 * time.Millisecond
	lookLongest = 10 * time.Minute

	// The holder may hand over to a frozen process, and tell a second frozen one when to
	// look. So those near the front look within a claim window and most of the second
	// for which a free name may be idle.
	lookNear = wire.ClaimWindow + 900*time.Millisecond
)

// lookAgain is how long a waiter trusts to pushes before it asks again by itself: until the
// holder's expiry, and lookEach longer for each waiter in front. A foreign holder and an
// expiry that never comes send no push: they are polled.
func (l *line) lookAgain(a wire.Answer, lonely bool, now clock.Instant) time.Duration {
	_, ours := keyspace.ParseID(a.Holder)
	foreign := !ours && !keyspace.IsCooldown(a.Holder)
	if a.PTTL < 0 && a.PTTL != wire.NoKey {
		foreign = true
		l.orphaned(a, now)
	} else {
		l.orphan = orphan{}
	}
	if foreign || lonely || !l.wake.up || now < l.c.muteUntil {
		return l.poll(a.Position)
	}
	switch {
	case l.shared != nil:
		a.PTTL = a.PollIn
	case a.PollIn > 0: // it has just handed over, and looks as the head does
		a.Position = 0
	case a.Position > 1 && a.Position < nearFront: // the hand-over notifies the waiter at 1
		a.PTTL = min(a.PTTL, lookNear)
	}
	wait := min(max(a.PTTL, 0), 15*time.Second) + time.Duration(min(a.Position, int64(lookLongest/lookEach)))*lookEach
	return min(wait+2*time.Millisecond+l.c.jitter(10*time.Millisecond), lookLongest)
}

// refusedToPublish: who hands a name over may not tell anybody, so all waiters
// here poll for a while, and people are told once.
func (c *core) refusedToPublish(said string, now clock.Instant) {
	if now >= c.muteUntil {
		c.warn("holdfast: the server refuses to publish, so waiters poll: grant publish (in a Cluster spublish) on the channels holdfast/push:*", "error", said)
	}
	c.muteUntil = now.Add(time.Minute)
}

// poll is how long a waiter waits where no push is to be relied on.
func (l *line) poll(position int64) time.Duration {
	const longest = 250 * time.Millisecond
	k := time.Duration(min(position, int64(lookLongest/longest))) + 1
	return k * (100*time.Millisecond + l.c.jitter(longest-100*time.Millisecond))
}

// failed notes that a request for the name was not answered or refused, and
// sends the callers home when that lasts, or when it will not pass.
func (l *line) failed(err error, since, now clock.Instant) {
	err = wire.WithoutContext(err)
	if l.failing == 0 {
		l.failing, l.backoff = since, 10*time.Millisecond
	}
	l.slept(since.Add(l.c.options.attempt()), now)
	l.trouble = err
	if !wire.Transient(err) {
		l.failing = 0
		l.reject(wire.Failure(l.name, nil, err))
		return
	}
	if now >= l.failing.Add(l.c.options.patience()) {
		l.failing = 0
		l.reject(wire.Failure(l.name, ErrUnreachable, err))
		return
	}
	l.askAt = now.Add(l.backoff/2 + l.c.jitter(l.backoff))
	l.backoff = min(2*l.backoff, time.Second)
}

// slept: something was due at that moment. When it happens much later this process was
// frozen, or its machine slept. That time does not count as one in which Redis failed.
func (l *line) slept(due, now clock.Instant) {
	if late := now.Sub(due); l.failing > 0 && late >= asleep {
		l.failing = l.failing.Add(late)
	}
}

// grant is what Redis said when it made an id the holder.
type grant struct {
	base, size int64
	waiting    int64
	start      clock.Instant // of the life
	life       time.Duration
	heard      bool // a recall that follows it can't go unheard
	pushed     bool // it came by the subscription
}

// granted begins a tenure with the first grant that is heard of its id. Later
// ones only prolong it; what has ended is never revived, but ended again.
func (c *core) granted(t *tenure, g grant, now clock.Instant) {
	l := t.line
	t.tokens.Reserved(g.base, g.size)
	switch t.phase {
	case asked, queued:
		if l.fresh == t { // the unlock that queued it has run
			l.departed(nil, now)
		}
		l.begin(t, g, now)
	case holding:
		if now < t.ends() {
			if c.options.WaitReplicas == 0 { // else only renewals count
				t.hold(g.start, g.life, c.jitter)
				t.tokens.Add(g.base, g.size)
			}
			t.heard = t.heard || g.heard
			if g.waiting > 0 {
				l.recalled(t)
			}
		}
	case leaving, past:
		c.cancelID(t.id, l, now)
		return
	case over:
		return
	}
	l.step(now)
}

func (l *line) begin(t *tenure, g grant, now clock.Instant) {
	l.asking, l.askAt, l.failing, l.bundle = nil, 0, 0, nil
	if now >= clock.Deadline(g.start, g.life) {
		t.waits = true // L may bear it: who gives it up must cancel
		if l.lateAgain(t, g, now) {
			l.tooSlow(now, now.Sub(g.start))
			return
		}
		t.listed = false // a new place has a reason: it was granted
		l.sendLock(now)  // it is ours there: the same id again prolongs it
		return
	}
	t.become(holding)
	t.heard, t.pushed = g.heard, g.pushed
	t.fenced = g.start
	t.minHold.lives = g.start.Add(g.life)
	t.hold(g.start, g.life, l.c.jitter)
	if t.doubted > 0 {
		t.renewAt = now
	}
	if t.sure = l.c.options.WaitReplicas == 0; t.sure {
		t.tokens.Add(g.base, g.size)
	}
	if g.waiting > 0 || t.recall {
		l.recalled(t)
	}
}

// lateAgain notes that a grant was over when it came, and tells whether the ttl is too
// short for the network: this one is the answer to the request that followed the last
// one that was late. A pause of the process makes a grant late, too, but not the next
// one as soon as it asks again. A push says nothing of how long a round trip takes.
func (l *line) lateAgain(t *tenure, g grant, now clock.Instant) bool {
	follows := t.late > 0 && now.Sub(t.late) <= l.c.options.retryWindow()
	t.late = now
	return follows && !g.pushed
}

// departed ends the tenure that was left, and goes on with the fresh id.
func (l *line) departed(err error, now clock.Instant) {
	t, fresh := l.tenure, l.fresh
	l.fresh, l.unlocking, l.askAt, l.failing = nil, nil, 0, 0
	l.c.end(t, now)
	l.c.saidGoodbye(t.id)
	l.tell(err)
	l.tenure = fresh
}

// tell answers the call of Release that waits for the unlock.
func (l *line) tell(err error) {
	if l.told != nil {
		l.told <- outcome{err: err}
		l.told = nil
	}
}

func (r *request) unlockAnswered(a wire.Answer, err error, now clock.Instant) {
	l, t := r.line, r.tenure
	if l.unlocking != r || l.tenure != t || t.phase != leaving {
		return // an earlier one was answered, or it was too late
	}
	l.unlocking = nil
	fresh := l.fresh
	switch {
	case err != nil:
		if !wire.Transient(err) {
			l.tell(wire.Failure(l.name, ErrUnknown, err))
		}
		l.failedLeaving(err, r.sent, now)
		l.arm(now)
		return
	case a.Word == "again":
		if l.shared == nil {
			t.unlocks-- // it has released nothing; shared_unlock has
		}
		l.sendUnlock(now)
		l.arm(now)
		return
	}
	// "not held" counts as released where the first of two runs may have done
	// that, or where L may have expired on the way.
	t.minHold.until = 0 // L rests, or is not ours
	l.departed(l.wasGone(t, a), now)
	if a.Word == "dropped" { // the line has yet to move
		l.c.moveLine(t.id, l, now)
	}
	if a.Word == "not held" && a.Holder == "" && r.call.Script == script.Cooldown { // which moves no line
		l.c.moveLine(t.id, l, now)
	}
	switch {
	case fresh == nil:
	case a.Word == "granted":
		l.c.granted(fresh, grant{
			base: a.Base, size: a.Size, waiting: a.Waiting,
			start: r.sent, life: l.ttl(), heard: l.wake.heardSince(r.sent),
		}, now)
		return
	case a.Word == "queued":
		l.queued(fresh, a, r.sent, now)
	}
	l.step(now)
}

// wasGone is the loss that the answer to unlock proves, or nil; see docs/adr/0033.
func (l *line) wasGone(t *tenure, a wire.Answer) error {
	if a.Word != "not held" || t.unlocks > 1 || !l.c.unrepeated() || l.c.clock.Exact() >= t.ends() {
		return nil
	}
	if a.Holder != "" {
		return &LostError{Name: l.name, Cause: Taken}
	}
	return &LostError{Name: l.name, Cause: Gone}
}

// unrepeated reports whether the store can promise that each call runs at most once.
func (c *core) unrepeated() bool {
	s, ok := c.store.(driver.SendsOnce)
	return ok && s.SendsOnce()
}

func (l *line) failedLeaving(err error, since, now clock.Instant) {
	if l.failing == 0 {
		l.failing, l.backoff = since, 10*time.Millisecond
	}
	l.slept(since.Add(l.c.options.attempt()), now)
	l.trouble = err
	l.askAt = now.Add(l.backoff/2 + l.c.jitter(l.backoff))
	l.backoff = min(2*l.backoff, time.Second)
}

// tickLeaving repeats an unlock that is not answered, until L must be over by
// itself.
func (l *line) tickLeaving(now clock.Instant) {
	if r := l.unlocking; r != nil && now >= r.sent.Add(r.attempt) {
		l.unlocking = nil
		l.failedLeaving(wire.ErrNoAnswer, r.sent, now)
	}
	if l.told != nil && now >= l.tellBy {
		l.tell(wire.Failure(l.name, ErrUnknown, cmp.Or(l.trouble, wire.ErrNoAnswer)))
	}
	if l.failing > 0 && now >= l.failing.Add(l.c.options.patience()) {
		l.reject(wire.Failure(l.name, ErrUnreachable, l.trouble))
	}
	switch {
	case now >= l.tenure.gone():
		l.departed(wire.Failure(l.name, ErrUnknown, cmp.Or(l.trouble, wire.ErrNoAnswer)), now)
	case l.unlocking == nil && now >= l.askAt:
		l.sendUnlock(now)
	}
}

func labelOf(holder string) string {
	if owner, rests := keyspace.CooldownOwner(holder); rests {
		return owner
	}
	id, _ := keyspace.ParseID(holder)
	return id.Owner
}
