package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const frozenAfter = time.Second // what is this late shows that the process was frozen

// ask sends a lock for a tenure that is not in the queue yet. If an earlier lock found the name held, ask
// opens the subscription before.
func (n *Name) ask(now clock.Instant) {
	t := n.tenure
	switch {
	case t.asking != nil || now < n.askAt:
	case t.group != nil:
		t.group.ask(now)
	case t.foundHeld && !n.sub.Confirmed && !n.sub.failed:
		n.sub.open() // OnConfirm calls step again
	default:
		n.sendLock(now)
	}
}

// sendLock asks Redis for the name. It joins the queue only while our
// subscription is confirmed: a waiter without a listener counts as dead.
func (n *Name) sendLock(now clock.Instant) {
	t := n.tenure
	r := &Request{Tenure: t, locks: t.ID, OnAnswer: (*Request).lockAnswered}
	s, args := script.Lock, append([]string{t.ID}, n.Kind.lockArgs...)
	if first := n.Kind.First; first != nil {
		s, args = first.Script, append(args, first.Args...)
		r.OnAnswer = (*Request).firstLockAnswered
	} else if n.waiters.anyBlocking() && n.sub.Confirmed {
		t.mayBeStored = true
		r.hasPlace = t.arrival > 0
		args = append(args, "wait", wire.Itoa(t.arrival), n.shard) // arrival: an id that was taken out of the queue gets its old place
	} else if n.shard != "" || n.Kind.lockArgs != nil {
		args = append(args, "try", "0", n.shard)
	}
	if t.firstSent == 0 {
		t.firstSent = now
	}
	n.askAt = 0
	t.openLocks++
	r.Call = n.callFor(s, args)
	t.asking = n.send(r, now)
}

func (r *Request) lockAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Name, r.Tenure
	newest := t.asking == r
	if newest {
		t.asking = nil
	}
	if a.Capacity > 0 {
		n.noteSize(a)
	}
	if err != nil {
		n.lockFailed(r, newest, err, now)
	} else if t.openLocks--; a.Word == wire.Granted {
		n.lockGranted(t, r, a, now)
	} else {
		n.notGranted(r, a, now)
	}
	if t.phase == ended {
		n.client.leftoverProgress(t.ID)
	}
}

// notGranted handles an answer to a lock that is neither an error nor a grant.
func (n *Name) notGranted(r *Request, a wire.Answer, now clock.Instant) {
	t := r.Tenure
	switch {
	case t.givenBack() && (a.Word == wire.Queued || a.Word == wire.Again):
		n.client.cancelID(t.ID, n, now)
		return
	case t.phase > queued:
		return
	}
	n.failingSince = 0
	n.client.cancelStaleID(a.Holder, now) // a failover has brought the id back
	switch a.Word {
	case wire.Held:
		n.refusedTry(a, now)
	case wire.Queued:
		n.queued(t, a, r.Sent, now)
	case wire.Again:
		n.sendLock(now)
	case wire.NotDue:
		n.answerTry(ErrNoLongerDue, now)
	case wire.Lost, wire.Revoked, wire.Stolen:
		n.reject(&Lost{Name: n.Text, Cause: lifetime.Cause(a.Ending()), Reason: a.Reason}) // the answer to adopt
	case wire.NotHeld:
		n.notStolen(a)
	case wire.OtherKind:
		n.refused(&AnotherKind{Name: n.Text, Letter: n.Kind.Letter, Size: n.Kind.size(), Answer: a})
	case wire.TooMany:
		n.refused(SizeError(n.Text, n.Kind.weight, a.Capacity))
	default:
		n.failed(r.unexpected(a), r.Sent, now)
	}
	n.step(now)
}

// lockGranted handles a grant in the answer to a lock, or to the unlock that queued the id.
func (n *Name) lockGranted(t *Tenure, r *Request, a wire.Answer, now clock.Instant) {
	n.client.granted(t, grant{
		base: a.Base, size: a.Size, waiting: a.Waiting,
		start: r.Sent, ttl: n.Kind.TTL, recallSure: n.sub.confirmedBefore(r.Sent),
	}, now)
}

// givenBack reports whether a lock that was answered may have run after the unlock or the cancel.
func (t *Tenure) givenBack() bool { return t.phase == releasing || t.phase == ended }

// lockFailed handles a lock that had no answer, or an error as its answer.
func (n *Name) lockFailed(r *Request, newest bool, err error, now clock.Instant) {
	t := r.Tenure
	_, refused := wire.AsServerError(err)
	t.mayRunLate = t.mayRunLate || wire.MayStillRun(err)
	t.refusedUnwritten(err)
	if newest {
		n.failed(err, r.Sent, now)
		n.step(now)
	} else if t.givenBack() && !refused {
		n.client.cancelTenure(t, now)
	}
}

// refusedUnwritten handles an error by which Redis refused a lock before its first write. If no
// other request was sent for the id, Redis does not know it, and no cancel is needed.
func (t *Tenure) refusedUnwritten(err error) {
	if !wire.Unwritten(err) {
		return
	}
	t.openLocks--
	if t.openLocks == 0 && !t.mayRunLate && t.lateGrantAt == 0 && t.arrival == 0 {
		t.mayBeStored = false
	}
}

// refusedTry handles the answer held to a lock that does not wait.
func (n *Name) refusedTry(a wire.Answer, now clock.Instant) {
	n.tenure.foundHeld = true
	n.seen = seenIn(a, now)
	n.answerTry(nil, now)
	if n.tenure.phase == queued || n.sub.failed && !n.sub.Confirmed { // while the subscription is broken
		n.sub.open()
		n.askAt = now.Add(n.pollInterval(0))
	}
}

// queued notes a place in the queue and when to poll again.
func (n *Name) queued(t *Tenure, a wire.Answer, sent, now clock.Instant) {
	t.setPhase(queued)
	t.arrival, t.lateGrantAt = a.Score, 0
	n.seen = seenIn(a, now)
	if n.sub.confirmedBefore(sent) && sent >= t.clockPair.sent {
		t.clockPair = exchange{sent: sent, server: a.Server}
	}
	n.answerTry(nil, now)
	if n.client.ShowsDetails {
		n.client.Host.ShowDetails()
	}
	if !a.Listening && n.sub.confirmedBefore(sent) {
		n.sub.resubscribe(now)
	}
	n.askAt = now.Add(n.nextPoll(a, now))
	if t.pollBy > now {
		n.askAt = min(n.askAt, t.pollBy)
	}
	if t.requeue || n.sub.Confirmed && !n.sub.confirmedBefore(sent) { // the answer may be older than that push, or than the subscription
		t.requeue, n.askAt = false, now
	}
	holder, _, _ := n.seen.label()
	n.client.Host.Note(Event{What: Queueing, Name: n.Text, Position: int(a.Position), Holder: holder, Remaining: a.PTTL, Joined: a.Inserted})
}

// longestPoll bounds how long a waiter trusts pushes. A waiter polls when the lock key expires,
// and protocol.PollPerWaiter later for each waiter in front, because all of them may be dead. So
// waiters do not poll all at once, and the polls per second of n waiters grow with log n. See
// docs/protocol.md.
const longestPoll = 10 * time.Minute

// nextPoll returns how long a waiter trusts pushes before it polls, see longestPoll. A foreign
// holder, or a key without an expiry, sends no push: such a name is polled by pollInterval.
func (n *Name) nextPoll(a wire.Answer, now clock.Instant) time.Duration {
	_, ours := keyspace.ParseID(a.Holder)
	foreign := !ours && !keyspace.IsCooldown(a.Holder)
	if a.PTTL < 0 && a.PTTL != wire.NoKey {
		foreign = true
		n.orphaned(a, now)
	} else {
		n.orphan = orphan{}
	}
	if foreign || !a.Listening || !n.sub.Confirmed || now < n.client.noPushUntil {
		return n.pollInterval(a.Position)
	}
	if n.Kind.Shared() { // the script has counted those in front
		return n.pollAfter(max(a.PollIn, 0))
	}
	switch {
	case a.PollIn > 0: // it has just handed over, and polls as the head does
		a.Position = 0
	case a.Position > 1 && a.Position < protocol.FrontSize: // the hand-over notifies the waiter at 1
		a.PTTL = min(a.PTTL, protocol.FrontPoll)
	}
	wait := min(max(a.PTTL, 0), 15*time.Second) + time.Duration(min(a.Position, int64(longestPoll/protocol.PollPerWaiter)))*protocol.PollPerWaiter
	return n.pollAfter(wait)
}

func (n *Name) pollAfter(d time.Duration) time.Duration {
	return min(d+2*time.Millisecond+n.client.Jitter(10*time.Millisecond), longestPoll)
}

// refusedToPublish makes all local waiters poll for 1 min, because the server refuses pushes. It
// logs one warning in that time.
func (c *Client) refusedToPublish(said string, now clock.Instant) {
	if now >= c.noPushUntil {
		c.Host.Warn("holdfast: the server refuses to publish, so waiters poll: grant publish (in a Cluster spublish) on the channels holdfast/push:*", "error", said)
	}
	c.noPushUntil = now.Add(time.Minute)
}

// pollInterval returns the time between two polls without pushes: 100 to 250 ms, and as much more
// for each waiter in front.
func (n *Name) pollInterval(position int64) time.Duration {
	const longest = 250 * time.Millisecond
	k := time.Duration(min(position, int64(longestPoll/longest))) + 1
	return k * (100*time.Millisecond + n.client.Jitter(longest-100*time.Millisecond))
}

// failed notes that a lock had no answer, or got an error. It rejects the local waiters if
// the error is permanent, or if requests have failed for Patience.
func (n *Name) failed(err error, since, now clock.Instant) {
	err = wire.WithoutContext(err)
	n.retryLater(err, since, now)
	switch {
	case !wire.Transient(err):
		n.failingSince = 0
		n.reject(wire.Failure(n.Text, nil, err))
	case now >= n.failingSince.Add(n.client.Patience()):
		n.failingSince = 0
		n.reject(wire.Failure(n.Text, wire.ErrUnreachable, err))
	}
}

// retryLater notes that a lock or an unlock failed, and when to send it again.
func (n *Name) retryLater(err error, since, now clock.Instant) {
	if n.failingSince == 0 {
		n.failingSince, n.backoff = since, 10*time.Millisecond
	}
	n.excludeSleep(since.Add(n.client.Attempt()), now)
	n.lastErr = err
	n.askAt = now.Add(n.backoff/2 + n.client.Jitter(n.backoff))
	n.backoff = min(2*n.backoff, time.Second)
}

// excludeSleep moves failingSince if something was due 1 s ago or earlier: then this Client was
// frozen, or its machine slept. That time does not count as time in which Redis failed.
func (n *Name) excludeSleep(due, now clock.Instant) {
	if late := now.Sub(due); n.failingSince > 0 && late >= frozenAfter {
		n.failingSince = n.failingSince.Add(late)
	}
}

// grant has the data of an answer or a push that makes an id the holder.
type grant struct {
	base, size int64
	waiting    int64
	start      clock.Instant // of the ttl
	ttl        time.Duration
	recallSure bool  // no later recall can be missed
	pushed     bool  // it came by the subscription
	servesUpTo int64 // only local waiters up to this number get a turn; 0: until a recall
}

// granted begins a tenure with the first grant of its id. Later grants only prolong
// it. A tenure that has ended is never revived: its id is cancelled again.
func (c *Client) granted(t *Tenure, g grant, now clock.Instant) {
	n := t.name
	t.tokens.Reserved(g.base, g.size)
	t.Expiry = max(t.Expiry, now.Add(g.ttl))
	switch t.phase {
	case asked, queued:
		n.begin(t, g, now)
	case holding:
		n.grantedAgain(t, g, now)
	case releasing, ended:
		c.cancelID(t.ID, n, now)
		return
	case unreleased:
		return
	}
	n.step(now)
}

// grantedAgain handles a later grant of a tenure that has the name.
func (n *Name) grantedAgain(t *Tenure, g grant, now clock.Instant) {
	if now >= t.Ends() {
		return
	}
	if n.client.WaitReplicas == 0 { // else only renewals count
		t.Prolong(g.start, g.ttl, n.client.Jitter)
		t.tokens.Add(g.base, g.size)
	}
	t.recallSure = t.recallSure || g.recallSure
	if g.waiting > 0 {
		n.recalled(t)
	}
}

func (n *Name) begin(t *Tenure, g grant, now clock.Instant) {
	t.asking, t.group, n.askAt, n.failingSince = nil, nil, 0, 0
	if now >= clock.Deadline(g.start, g.ttl) {
		n.grantedLate(t, g, now)
		return
	}
	othersWait := g.waiting > 0 || t.earlyRecall
	t.setPhase(holding)
	t.recallSure, t.pushed, t.servesUpTo, t.fenceRenewedAt = g.recallSure, g.pushed, g.servesUpTo, g.start
	t.Prolong(g.start, g.ttl, n.client.Jitter)
	if t.VerifySince > 0 {
		t.RenewAt = now
	}
	if t.acknowledged = n.client.WaitReplicas == 0; t.acknowledged {
		t.tokens.Add(g.base, g.size)
	}
	if othersWait {
		n.recalled(t)
	}
}

// grantedLate handles a grant that was over when it arrived.
func (n *Name) grantedLate(t *Tenure, g grant, now clock.Instant) {
	t.mayBeStored = true // the lock key may have this id: to give it up, a cancel is needed
	if t.lateAgain(g, now) {
		n.tooSlow(now, now.Sub(g.start))
		return
	}
	n.sendLock(now) // in Redis the name is ours: lock with the same id prolongs it
}

// lateAgain notes that a grant was over when it arrived. It reports whether the ttl is too short
// for the network: the grant before it was late, too, at most retryWindow ago. One late grant
// proves nothing, because the process may have paused. A pushed grant proves nothing either,
// because a push does not measure the round trip.
func (t *Tenure) lateAgain(g grant, now clock.Instant) bool {
	follows := t.lateGrantAt > 0 && now.Sub(t.lateGrantAt) <= t.name.client.retryWindow()
	t.lateGrantAt = now
	return follows && !g.pushed
}

// firstLockAnswered takes the answer to a FirstLock. A steal may have ended a tenure of this Client.
func (r *Request) firstLockAnswered(a wire.Answer, err error, now clock.Instant) {
	victim := r.Name.Kind.First.Victim
	if t := r.Name.client.tenures[victim.ID]; t != nil && a.Word == wire.Granted {
		t.stolen(victim.Reason, now)
	}
	r.lockAnswered(a, err, now)
}

// notStolen handles the answer not held to a steal. If an earlier run of the script had no
// answer, that run may have ended the victim's tenure.
func (n *Name) notStolen(a wire.Answer) {
	if t := n.tenure; t.openLocks > 0 || t.lateGrantAt > 0 {
		n.reject(wire.Failure(n.Text, wire.ErrUnreachable, errMayHaveStolen))
		return
	}
	var hash string
	if first := n.Kind.First; first != nil { // only a steal gets this answer
		hash = first.Victim.Hash
	}
	n.refused(&OtherTenure{Name: n.Text, Tenure: hash, Holder: a.Holder})
}

// refused rejects all local waiters, because their lock was refused. It left nothing in Redis,
// but an earlier lock may have.
func (n *Name) refused(err error) {
	if n.tenure.phase == asked && n.tenure.openLocks == 0 {
		n.tenure.mayBeStored = false
	}
	n.reject(err)
}

// TryAnswered takes the answer to a lock on a quorum, which has no queue. Each try has its own
// id. The ballot undoes what a failed try left on the nodes.
func (r *Request) TryAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Name, r.Tenure
	t.openLocks, t.mayBeStored = 0, false
	if n.tenure != t || t.phase != asked { // it was given up
		return
	}
	t.asking = nil
	switch {
	case err != nil:
		n.failed(err, r.Sent, now)
	case a.Word == wire.Granted:
		g := grant{base: a.Base, size: a.Size, start: r.Sent, ttl: n.Kind.TTL, recallSure: true, servesUpTo: n.presentUpTo(a.Size)}
		n.client.granted(t, g, now)
		return
	case a.Word == wire.TooSlow:
		n.tooSlow(now, now.Sub(r.Sent))
		return
	default:
		n.polls(r, a, now)
	}
	n.client.endTenure(t, now)
	n.step(now)
}

// polls notes that a try did not get the name, and when the next one is due.
func (n *Name) polls(r *Request, a wire.Answer, now clock.Instant) {
	n.failingSince = 0
	if a.Holder != "" {
		n.seen = seenIn(a, now)
		holder, _, _ := n.seen.label()
		n.client.Host.Note(Event{What: Queueing, Name: n.Text, Holder: holder, Remaining: a.PTTL})
	}
	if a.Word == wire.Held {
		n.answerTry(nil, now)
	}
	n.askAt = now.Add(a.PollIn)
	if a.Word == wire.Held && !r.Waits && n.waiters.anyBlocking() { // a waiter that came meanwhile has no mark on the nodes yet
		n.askAt = now
	}
}

// presentUpTo returns the servesUpTo of a grant on a quorum, where no client can recall it: it serves
// the present local waiters, as far as its tokens last.
func (n *Name) presentUpTo(tokens int64) int64 {
	last := max(1, n.waiters.admitted)
	if w := n.waiters.first; w != nil {
		last = min(last, w.number+tokens-1)
	}
	return last
}

// orphan is a key without expiry that a waiter keeps seeing.
type orphan struct {
	value string
	since clock.Instant
}

// orphaned sets the expiry of a lock key that has none, if the key has not changed for
// Settings.RepairOrphans. If that is 0, it does nothing.
func (n *Name) orphaned(a wire.Answer, now clock.Instant) {
	patience := n.client.RepairOrphans
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
	args := []string{a.Holder, wire.Itoa(n.client.TTL.Milliseconds())}
	n.send(&Request{Call: n.callFor(script.Repair, args), OnAnswer: (*Request).repairAnswered}, now)
}

func (r *Request) repairAnswered(a wire.Answer, err error, _ clock.Instant) {
	n := r.Name
	switch {
	case err != nil:
		n.client.Host.Warn("holdfast: could not set the expiry of a lock key that has none", "name", n.Text, "error", err)
	case a.Word == wire.Repaired:
		n.client.Host.Warn("holdfast: set the expiry of a lock key that had none", "name", n.Text, "ttl", n.client.TTL)
		n.client.Host.Note(Event{What: repaired, Name: n.Text})
	}
}
