package machine

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/tokens"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const frozenAfter = time.Second // a poll that is this late shows that the process was frozen

// ask sends the first lock for an id, or the first that waits.
func (n *Name) ask(now clock.Instant) {
	switch {
	case n.Asking != nil || now < n.askAt:
	case n.group != nil:
		n.group.ask(now)
	case n.tenure.foundHeld && !n.sub.Confirmed && !n.sub.failed:
		n.sub.open() // and step again when it is confirmed
	default:
		n.sendLock(now)
	}
}

// sendLock asks Redis for the name. It joins the queue only while our
// subscription is confirmed: a waiter without a listener counts as dead.
func (n *Name) sendLock(now clock.Instant) {
	t := n.tenure
	s, args := script.Lock, []string{t.ID}
	if n.Kind.Shared() {
		args = append(args, wire.Itoa(n.Kind.capacity))
	}
	if first := n.Kind.First; first != nil {
		s, args = first.Script, append(args, first.Args...)
	} else if n.waiters.anyBlocking() && n.sub.Confirmed {
		t.sentWait = true
		args = append(args, "wait", wire.Itoa(t.arrival), n.shard) // if it is not in the queue any more, it comes back to its place
	} else if n.shard != "" || n.Kind.Shared() {
		args = append(args, "try", "0", n.shard)
	}
	if t.firstSent == 0 {
		t.firstSent = now
	}
	n.askAt = 0
	t.openLocks++
	n.Asking = n.p.sendScript(s, n, t, now, args, (*Request).lockAnswered)
}

// overdue: lock was not answered in time.
func (n *Name) overdue(r *Request, now clock.Instant) {
	n.Asking = nil
	n.failed(wire.ErrNoAnswer, r.Sent, now)
}

func (r *Request) lockAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Local, r.Tenure
	defer n.p.removalProgress(t.ID)
	if err == nil {
		t.openLocks--
	}
	n.noteSize(a)
	if r.outdated() {
		n.outdatedLock(t, err, now)
		return
	}
	newest := n.Asking == r
	if newest {
		n.Asking = nil
	}
	asking := n.tenure == t && t.phase <= queued
	ended := t.phase == releasing || t.phase == past // it may have run after the unlock or the cancel
	switch {
	case err != nil:
		_, refused := wire.AsServerError(err)
		t.mayRunLate = t.mayRunLate || wire.MayStillRun(err)
		n.refusedUnwritten(t, err)
		if newest && asking {
			if together := refused && n.leaveGroup(); !together || wire.Transient(err) { // else it may be about another name
				n.failed(err, r.Sent, now)
			}
			n.step(now)
		} else if ended && !refused {
			n.p.cancelTenure(t, now)
		}
		return
	case a.Word == "granted":
		n.lockGranted(r, a, now)
		return
	case ended && (a.Word == "queued" || a.Word == "again"):
		n.p.cancelID(t.ID, n, now)
		return
	case !asking:
		return
	}
	n.failingSince = 0
	n.p.cancelStaleID(a.Holder, now) // a failover brought it back
	if a.Word == "passed" {
		n.leaveGroup()
	}
	n.group = nil
	switch a.Word {
	case "passed": // the other local waiters ask for this name alone
	case "held":
		n.refusedTry(a, now)
	case "queued":
		n.queued(t, a, r.Sent, now)
	case "again":
		n.sendLock(now)
	case "not due":
		n.answerTries(func() error { return ErrNoLongerDue })
	case "lost", "revoked", "stolen":
		n.notAdopted(a)
	case "not held":
		n.notStolen(a)
	case "other kind":
		n.otherKind(a)
	case "too many":
		n.tooMany(a)
	default:
		n.failed(fmt.Errorf("lock was answered %q", a.Word), r.Sent, now)
	}
	n.step(now)
}

func (n *Name) lockGranted(r *Request, a wire.Answer, now clock.Instant) {
	if first := n.Kind.First; first != nil && n.p.tenures[first.Victim.ID] != nil { // it was our own
		n.p.tenures[first.Victim.ID].stolen(first.Victim.Reason, now)
	}
	n.p.granted(r.Tenure, grant{
		base: a.Base, size: a.Size, waiting: a.Waiting,
		start: r.Sent, ttl: n.Kind.TTL, recallSure: n.sub.confirmedBefore(r.Sent),
	}, now)
}

// refusedUnwritten: Redis refused a lock before its first write. If that was all that was
// ever asked for the id, Redis does not know it and nothing is to be cancelled.
func (n *Name) refusedUnwritten(t *Tenure, err error) {
	if !wire.Unwritten(err) {
		return
	}
	t.openLocks--
	if t.openLocks == 0 && !t.mayRunLate && t.lateGrantAt == 0 && t.arrival == 0 && n.fresh != t {
		t.sentWait = false
	}
}

// refusedTry: a lock that does not wait found the name held.
func (n *Name) refusedTry(a wire.Answer, now clock.Instant) {
	n.tenure.foundHeld = true
	n.seen = seenIn(a, now)
	n.rejectTries(now)
	if n.tenure.phase == queued || n.sub.failed && !n.sub.Confirmed { // while the subscription is broken
		n.sub.open()
		n.askAt = now.Add(n.pollInterval(0))
	}
}

// queued notes a place in the queue and when to poll again.
func (n *Name) queued(t *Tenure, a wire.Answer, sent, now clock.Instant) {
	moved := a.Inserted && t.inQueue && !t.requeue
	joined := a.Inserted && !t.inQueue
	t.phase, t.inQueue, t.arrival, t.lateGrantAt = queued, true, a.Score, 0
	n.seen = seenIn(a, now)
	if n.sub.confirmedBefore(sent) && sent >= t.clockPair.sent {
		t.clockPair = exchange{sent: sent, server: a.Server}
	}
	n.rejectTries(now)
	n.p.Host.ShowDetails()
	notListening := !a.Listening || moved
	if notListening && n.sub.confirmedBefore(sent) {
		n.sub.resubscribe(now)
	}
	n.askAt = now.Add(n.nextPoll(a, notListening, now))
	if t.pollBy > now {
		n.askAt = min(n.askAt, t.pollBy)
	}
	if t.requeue || n.sub.Confirmed && !n.sub.confirmedBefore(sent) { // the answer may be older than that push, or than the subscription
		t.requeue, t.inQueue, n.askAt = false, false, now
	}
	n.p.Host.Note(Event{What: Queueing, Name: n.Name, Position: int(a.Position), Holder: labelOf(a.Holder), Remaining: a.PTTL, Joined: joined})
}

// A waiter asks again by itself when the holder's time is over, and so much later for
// each waiter in front of it: all of them may be dead. So very many do not ask at once,
// and the scripts of n waiters grow with the logarithm of n. See docs/protocol.md.
const longestPoll = 10 * time.Minute

// nextPoll is how long a waiter trusts to pushes before it asks again by itself: until the
// holder's expiry, and protocol.PollPerWaiter longer for each waiter in front. A foreign
// holder and an expiry that never comes send no push: they are polled.
func (n *Name) nextPoll(a wire.Answer, notListening bool, now clock.Instant) time.Duration {
	_, ours := keyspace.ParseID(a.Holder)
	foreign := !ours && !keyspace.IsCooldown(a.Holder)
	if a.PTTL < 0 && a.PTTL != wire.NoKey {
		foreign = true
		n.orphaned(a, now)
	} else {
		n.orphan = orphan{}
	}
	if foreign || notListening || !n.sub.Confirmed || now < n.p.noPushUntil {
		return n.pollInterval(a.Position)
	}
	switch {
	case n.Kind.Shared():
		a.PTTL = a.PollIn
	case a.PollIn > 0: // it has just handed over, and polls as the head does
		a.Position = 0
	case a.Position > 1 && a.Position < protocol.FrontSize: // the hand-over notifies the waiter at 1
		a.PTTL = min(a.PTTL, protocol.FrontPoll)
	}
	wait := min(max(a.PTTL, 0), 15*time.Second) + time.Duration(min(a.Position, int64(longestPoll/protocol.PollPerWaiter)))*protocol.PollPerWaiter
	return min(wait+2*time.Millisecond+n.p.Jitter(10*time.Millisecond), longestPoll)
}

// refusedToPublish: the server refuses pushes, so all waiters here poll for a while.
// One warning is logged.
func (p *Process) refusedToPublish(said string, now clock.Instant) {
	if now >= p.noPushUntil {
		p.Host.Warn("holdfast: the server refuses to publish, so waiters poll: grant publish (in a Cluster spublish) on the channels holdfast/push:*", "error", said)
	}
	p.noPushUntil = now.Add(time.Minute)
}

// pollInterval is how long a waiter waits where no push is to be relied on.
func (n *Name) pollInterval(position int64) time.Duration {
	const longest = 250 * time.Millisecond
	k := time.Duration(min(position, int64(longestPoll/longest))) + 1
	return k * (100*time.Millisecond + n.p.Jitter(longest-100*time.Millisecond))
}

// failed notes that a request for the name was not answered or refused, and
// rejects the waiters when that lasts, or when the error is permanent.
func (n *Name) failed(err error, since, now clock.Instant) {
	err = wire.WithoutContext(err)
	if n.failingSince == 0 {
		n.failingSince, n.backoff = since, 10*time.Millisecond
	}
	n.excludeSleep(since.Add(n.p.Attempt()), now)
	n.lastErr = err
	if !wire.Transient(err) {
		n.failingSince = 0
		n.reject(wire.Failure(n.Name, nil, err))
		return
	}
	if now >= n.failingSince.Add(n.p.Patience()) {
		n.failingSince = 0
		n.reject(wire.Failure(n.Name, wire.ErrUnreachable, err))
		return
	}
	n.askAt = now.Add(n.backoff/2 + n.p.Jitter(n.backoff))
	n.backoff = min(2*n.backoff, time.Second)
}

// excludeSleep: something was due at that moment. When it happens much later this process was
// frozen, or its machine slept. That time does not count as one in which Redis failed.
func (n *Name) excludeSleep(due, now clock.Instant) {
	if late := now.Sub(due); n.failingSince > 0 && late >= frozenAfter {
		n.failingSince = n.failingSince.Add(late)
	}
}

// grant is what Redis said when it made an id the holder.
type grant struct {
	base, size int64
	waiting    int64
	start      clock.Instant // of the ttl
	ttl        time.Duration
	recallSure bool // no recall that follows it can be missed
	pushed     bool // it came by the subscription
}

// granted begins a tenure with the first grant of its id. Later grants only prolong
// it. A tenure that has ended is never revived: its id is cancelled again.
func (p *Process) granted(t *Tenure, g grant, now clock.Instant) {
	n := t.local
	t.tokens.Reserved(g.base, g.size)
	switch t.phase {
	case asked, queued:
		if n.fresh == t { // the unlock that queued it has run
			n.released(nil, now)
		}
		n.begin(t, g, now)
	case holding:
		if now < t.Ends() {
			if p.WaitReplicas == 0 { // else only renewals count
				t.prolong(g.start, g.ttl, p.Jitter)
				t.tokens.Add(g.base, g.size)
			}
			t.recallSure = t.recallSure || g.recallSure
			if g.waiting > 0 {
				n.recalled(t)
			}
		}
	case releasing, past:
		p.cancelID(t.ID, n, now)
		return
	case over:
		return
	}
	n.step(now)
}

func (n *Name) begin(t *Tenure, g grant, now clock.Instant) {
	n.Asking, n.askAt, n.failingSince, n.group = nil, 0, 0, nil
	if now >= clock.Deadline(g.start, g.ttl) {
		t.sentWait = true // the lock key may have this id: giving it up needs a cancel
		if n.lateAgain(t, g, now) {
			n.tooSlow(now, now.Sub(g.start))
			return
		}
		t.inQueue = false // a new place has a reason: it was granted
		n.sendLock(now)   // it is ours there: the same id again prolongs it
		return
	}
	t.setPhase(holding)
	t.recallSure, t.pushed = g.recallSure, g.pushed
	t.fenceRenewedAt = g.start
	t.minHold.confirmedUntil = g.start.Add(g.ttl)
	t.prolong(g.start, g.ttl, n.p.Jitter)
	if t.verifySince > 0 {
		t.renewAt = now
	}
	if t.confirmed = n.p.WaitReplicas == 0; t.confirmed {
		t.tokens.Add(g.base, g.size)
	}
	if !n.p.Queue {
		n.servesPresent(t, g)
	}
	if g.waiting > 0 || t.earlyRecall {
		n.recalled(t)
	}
}

// lateAgain notes that a grant was over when it came, and reports whether the ttl is too
// short for the network: this one is the answer to the request that followed the last
// one that was late. A pause of the process makes a grant late, too, but not the next
// one as soon as it asks again. A push says nothing of how long a round trip takes.
func (n *Name) lateAgain(t *Tenure, g grant, now clock.Instant) bool {
	follows := t.lateGrantAt > 0 && now.Sub(t.lateGrantAt) <= n.p.retryWindow()
	t.lateGrantAt = now
	return follows && !g.pushed
}

func labelOf(holder string) string {
	if owner, isCooldown := keyspace.CooldownOwner(holder); isCooldown {
		return owner
	}
	id, _ := keyspace.ParseID(holder)
	return id.Owner
}

// notAdopted: somebody else has adopted it, or it is over.
func (n *Name) notAdopted(a wire.Answer) {
	n.reject(&Lost{Name: n.Name, Cause: Cause(a.Ending()), Reason: a.Reason})
}

// notStolen: another holds the name by now, or nobody. It may have been taken in between, by
// a run that was not answered in time.
func (n *Name) notStolen(a wire.Answer) {
	if t := n.tenure; t.openLocks > 0 || t.lateGrantAt > 0 {
		n.reject(wire.Failure(n.Name, wire.ErrUnreachable, errMayHaveStolen))
		return
	}
	var hash string
	if first := n.Kind.First; first != nil { // no other lock is answered so
		hash = first.Victim.Hash
	}
	n.notInRedis()
	n.reject(&OtherTenure{Name: n.Name, Tenure: hash, Holder: a.Holder})
}

// TryAnswered takes the answer of a server without a queue. An id serves one try, and the server
// undoes what the try has left.
func (r *Request) TryAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Local, r.Tenure
	t.openLocks, t.sentWait = 0, false
	if n.tenure != t || t.phase != asked { // it was given up
		return
	}
	n.Asking = nil
	switch {
	case err != nil:
		n.failed(err, r.Sent, now)
	case a.Word == "granted":
		n.lockGranted(r, a, now)
		return
	case a.Word == "too slow":
		n.tooSlow(now, now.Sub(r.Sent))
		return
	default:
		n.polls(r, a, now)
	}
	n.p.end(t, now)
	n.step(now)
}

// polls notes that a try was lost, and when the next one is due.
func (n *Name) polls(r *Request, a wire.Answer, now clock.Instant) {
	n.failingSince = 0
	if a.Holder != "" {
		n.seen = seenIn(a, now)
		n.p.Host.Note(Event{What: Queueing, Name: n.Name, Holder: labelOf(a.Holder), Remaining: a.PTTL})
	}
	if a.Word == "held" {
		n.rejectTries(now)
	}
	n.askAt = now.Add(a.PollIn)
	if a.Word == "held" && !r.Waits && n.waiters.anyBlocking() { // a caller that came meanwhile has no mark on the nodes yet
		n.askAt = now
	}
}

// servesPresent: without a queue nobody can recall a tenure. It serves the callers that wait here
// now, as far as its tokens last, and ends.
func (n *Name) servesPresent(t *Tenure, g grant) {
	t.tokens = tokens.From(g.base, g.size)
	t.servesUpTo = max(1, n.admitted)
	if w := n.waiters.first; w != nil {
		t.servesUpTo = min(t.servesUpTo, w.number+g.size-1)
	}
}

// orphan is a key without expiry that a waiter keeps seeing.
type orphan struct {
	value string
	since clock.Instant
}

// orphaned gives a key without expiry one, when asked for and after it was seen
// unchanged for long enough.
func (n *Name) orphaned(a wire.Answer, now clock.Instant) {
	patience := n.p.RepairOrphans
	if patience == 0 {
		return
	}
	if n.orphan.value != a.Holder || n.orphan.since == 0 {
		n.orphan = orphan{a.Holder, now}
		return
	}
	if now.Sub(n.orphan.since) < patience {
		return
	}
	n.orphan = orphan{}
	n.p.sendScript(script.Repair, n, nil, now, []string{a.Holder, wire.Itoa(n.p.TTL.Milliseconds())}, (*Request).repairAnswered)
}

func (r *Request) repairAnswered(a wire.Answer, err error, _ clock.Instant) {
	n := r.Local
	switch {
	case err != nil:
		n.p.Host.Warn("holdfast: could not give the orphaned key an expiry", "name", n.Name, "error", err)
	case a.Word == "repaired":
		n.p.Host.Warn("holdfast: gave a key without an expiry one", "name", n.Name, "ttl", n.p.TTL)
		n.p.Host.Note(Event{What: repaired, Name: n.Name})
	}
}
