package machine

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ReleaseResult says what the caller of Release waits for: Unlock, Removal, or nothing if both are nil.
type ReleaseResult struct {
	Ended   *Ending  // how the turn had ended before; nil: it had not
	Removal *Removal // the cleanup that gives the name back
	Unlock  *Request // the host gets its result by Answer, for the turn
}

// Release gives one share of a turn back. After the last one the next local waiter gets a turn,
// or the name lingers, or it is released in Redis.
func (c *Client) Release(u *Turn, now clock.Instant) ReleaseResult {
	n, t := u.Name, u.Tenure
	u.shares--
	if e := u.HasEnded(now); e != nil {
		if t.phase == unreleased && u.shares == 0 {
			u.releaseStopped(now)
		}
		l := ReleaseResult{Ended: e}
		if now < t.Ends() {
			l.Removal = u.removal
		}
		return l
	}
	if u.shares > 0 {
		return ReleaseResult{}
	}
	u.end(wire.ErrReleased, now)
	n.turn = nil
	n.step(now)
	if t.phase != releasing {
		return ReleaseResult{}
	}
	t.awaitedTurn = u
	n.arm(now)
	return ReleaseResult{Unlock: t.unlocking}
}

// released ends the tenure whose unlock is over, and continues with its successor, if any. err is
// what Release returns.
func (n *Name) released(err error, now clock.Instant) {
	t := n.tenure
	successor := t.successor
	t.answerRelease(err)
	n.askAt, n.failingSince = 0, 0
	n.client.endTenure(t, now)
	if len(n.client.awaitedIDs) > 0 {
		n.client.leftoverProgress(t.ID)
	}
	n.tenure = successor
}

// answerRelease answers the call of Release that waits for the unlock.
func (t *Tenure) answerRelease(err error) {
	if u := t.awaitedTurn; u != nil {
		t.awaitedTurn = nil
		t.name.client.Host.Answer(u, err)
	}
}

func (r *Request) unlockAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Name, r.Tenure
	if n.tenure != t || t.phase != releasing || t.unlocking != r {
		return // it was too late, or answers an earlier unlock
	}
	t.unlocking = nil
	switch a.Word {
	case wire.Released, wire.NotHeld, wire.Dropped, wire.Again, wire.Granted, wire.Queued:
	default:
		err = cmp.Or(err, r.unexpected(a))
	}
	switch {
	case err != nil:
		if !wire.Transient(err) {
			t.answerRelease(wire.Failure(n.Text, wire.ErrUnknown, err))
		}
		n.retryLater(err, r.Sent, now)
		n.arm(now)
	case a.Word == wire.Again:
		if !n.Kind.Shared() {
			t.unlocks-- // it has released nothing; shared_unlock has
		}
		n.sendUnlock(now)
		n.arm(now)
	default:
		n.unlocked(r, a, now)
	}
}

// MajorityUnlocked takes the answer to an unlock on a quorum. A majority may answer an earlier unlock
// later.
func (r *Request) MajorityUnlocked(a wire.Answer, err error, now clock.Instant) {
	if a.Word == wire.Released && r.Tenure.phase == releasing {
		r.Tenure.unlocking = r
	}
	r.unlockAnswered(a, err, now)
}

// unlocked handles an answer to unlock after which Redis does not have the id.
func (n *Name) unlocked(r *Request, a wire.Answer, now clock.Instant) {
	t, successor := r.Tenure, r.Tenure.successor
	// "not held" counts as released: an earlier run of the script may have released the name,
	// or the lock key may have expired before the script ran.
	t.Waive() // the lock key cools down, or is not ours
	n.released(t.lossAtUnlock(a, now), now)
	if n.client.NotBefore != nil {
		n.askAt = n.client.NotBefore(n.Text)
	}
	if a.Word == wire.Dropped || // only the lock key is deleted: the next waiter must get the name
		a.Word == wire.NotHeld && a.Holder == "" && r.Call.Script == script.Cooldown { // cooldown hands nothing over
		n.client.handOverAfterSplit(t.ID, n, now)
	}
	switch {
	case successor == nil:
	case a.Word == wire.Granted:
		n.lockGranted(successor, r, a, now)
		return
	case a.Word == wire.Queued:
		n.queued(successor, a, r.Sent, now)
	}
	n.step(now)
}

// lossAtUnlock returns the loss that the answer to unlock proves, or nil; see docs/adr/0033-a-store-that-sends-once.md.
func (t *Tenure) lossAtUnlock(a wire.Answer, now clock.Instant) error {
	n := t.name
	if a.Word != wire.NotHeld || t.unlocks > 1 || !n.client.SendsOnce() || now >= t.Ends() {
		return nil
	}
	if a.Holder != "" {
		return &Lost{Name: n.Text, Cause: lifetime.Taken}
	}
	return &Lost{Name: n.Text, Cause: lifetime.Gone}
}

// tickReleasing repeats an unlock that has no answer, until the lock key has certainly
// expired.
func (n *Name) tickReleasing(now clock.Instant) {
	t := n.tenure
	if r := t.unlocking; r != nil && now >= r.Sent.Add(r.Attempt) {
		t.unlocking = nil
		n.retryLater(wire.ErrNoAnswer, r.Sent, now)
	}
	if t.awaitedTurn != nil && now >= t.releaseDeadline {
		t.answerRelease(wire.Failure(n.Text, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)))
	}
	if n.failingSince > 0 && now >= n.failingSince.Add(n.client.Patience()) {
		n.reject(wire.Failure(n.Text, wire.ErrUnreachable, n.lastErr))
	}
	switch {
	case now >= t.GoneBy():
		n.released(wire.Failure(n.Text, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)), now)
	case t.unlocking == nil && now >= n.askAt:
		n.sendUnlock(now)
	}
}

// whenReleasing returns when tickReleasing has something to do.
func (n *Name) whenReleasing() clock.Instant {
	t := n.tenure
	when := t.GoneBy()
	if t.awaitedTurn != nil {
		when = min(when, t.releaseDeadline)
	}
	if n.failingSince > 0 && n.waiters.n > 0 {
		when = min(when, n.failingSince.Add(n.client.Patience()))
	}
	if t.unlocking != nil {
		return min(when, t.unlocking.Sent.Add(t.unlocking.Attempt))
	}
	return min(when, n.askAt)
}

// sendRelease sends unlock. If blocking local waiters are left, the same script
// queues the id of a successor.
func (n *Name) sendRelease(now clock.Instant) {
	t := n.tenure
	t.setPhase(releasing)
	if n.waiters.anyBlocking() && n.sub.Confirmed && n.client.Queue {
		t.successor = n.client.newTenure(n)
		t.successor.firstSent, t.successor.mayBeStored = now, true
	}
	t.releaseDeadline = now.Add(n.client.PatienceToRelease())
	n.sendUnlock(now)
}

func (n *Name) sendUnlock(now clock.Instant) {
	t := n.tenure
	id := ""
	if t.successor != nil {
		id = t.successor.ID
	}
	t.unlocks++
	call := n.endCall(script.Unlock, t.ID, id, t.CoolUntil, now)
	t.unlocking = n.send(&Request{Call: call, Tenure: t, locks: id, OnAnswer: (*Request).unlockAnswered}, now)
	n.askAt = 0
}

// unlockArgs omits arguments that have their defaults: each argument costs Redis
// more than the read of a key.
func (n *Name) unlockArgs(id, successor string) []string {
	switch {
	case successor != "":
		return []string{id, n.shard, successor}
	case n.shard != "":
		return []string{id, n.shard}
	}
	return []string{id}
}

// cleanup is a script that only removes state that the client no longer owns. It is
// repeated until Redis answers, or until the keys have expired by themselves.
type cleanup struct {
	client      *Client
	call        driver.Call
	name        *Name
	until       clock.Instant
	coolUntil   clock.Instant // until when the name cools down; 0: it does not
	wait        time.Duration // before the next try
	timer       clock.Timer   // of the next try
	asking      *Request      // the newest; an older one proves nothing: a lock may have run after it
	lockKeyOnly bool          // the lock key is done, not the queue
	repeatAfter time.Duration // time from its answer until it is sent again; 0: it is not sent again
	answered    bool          // it was answered, and is sent again only because of repeatAfter
	removal     *Removal      // what a call may wait for
}

// startCleanup starts a script that ends an id, the first of its arguments, or announces a term.
func (c *Client) startCleanup(undo *cleanup, now clock.Instant) *cleanup {
	undo.client, undo.wait, undo.removal = c, 10*time.Millisecond, &Removal{}
	undo.timer = clock.Timer{Fire: undo.send}
	c.cleanups[undo] = struct{}{}
	undo.send(now)
	return undo
}

// Removal is a cleanup that a call may wait for.
type Removal struct {
	Ended bool
	of    *Turn // the end of this turn is announced after the cleanup; nil: nothing is
}

func (c *cleanup) send(now clock.Instant) {
	if c.client.Closed {
		return
	}
	c.client.Schedule.Stop(&c.timer)
	c.updateCooldown(now)
	c.asking = c.name.send(&Request{Call: c.call, NoFallback: c.lockKeyOnly, OnAnswer: c.handleAnswer}, now)
}

// updateCooldown computes again how long the cool-down lasts.
func (c *cleanup) updateCooldown(now clock.Instant) {
	if c.coolUntil > 0 {
		c.call = c.name.endCall(script.Unlock, c.call.Args[0], "", c.coolUntil, now)
	}
}

func (c *cleanup) handleAnswer(r *Request, a wire.Answer, err error, now clock.Instant) {
	switch {
	case c.asking != r: // it was sent again, or the cleanup has ended
		return
	case err == nil && a.Word == wire.Again:
		c.send(now)
		return
	case (err == nil && a.Word == wire.Dropped || err != nil && wire.Transient(err)) && now < c.until:
		c.lockKeyOnly = c.lockKeyOnly || err == nil
		c.wait = clock.Backoff(c.wait, len(c.client.cleanups))
		c.client.Schedule.Set(&c.timer, now.Add(c.wait/2+c.client.Jitter(c.wait)), now)
		return
	case err == nil && c.repeatAfter > 0:
		c.answered = true
		c.client.leftoverProgress(c.call.Args[0])
		c.client.Schedule.Set(&c.timer, now.Add(c.repeatAfter+time.Duration(len(c.client.cleanups))*2*time.Millisecond), now)
		if c.repeatAfter *= 2; c.repeatAfter > longestRepeat {
			c.repeatAfter = 0
		}
		return
	case err != nil:
		c.client.Host.Warn("holdfast: cleanup failed; the remaining keys expire by themselves", "name", c.name.Text, "script", c.call.Script.Name, "error", err)
	}
	c.finish(now)
}

// finish removes a cleanup from Client.cleanups, done or not.
func (c *cleanup) finish(now clock.Instant) {
	delete(c.client.cleanups, c)
	c.asking = nil
	c.client.Schedule.Stop(&c.timer)
	c.client.cancels.Remove(c.call.Args[0], c)
	c.removal.Ended = true
	c.client.Host.Done(c.removal)
	if u := c.removal.of; u != nil {
		u.announce(now)
	}
	c.client.leftoverProgress(c.call.Args[0])
}

// cancelTenure cancels the id of a tenure that was given up, or has ended. If a lock of it had no
// answer in time, the cancel is repeated even after its answer: TCP may still deliver that lock,
// on a connection that the client library has long closed, so that its answer never comes.
func (c *Client) cancelTenure(t *Tenure, now clock.Instant) {
	if undo := c.cancelID(t.ID, t.name, now); t.mayRunLate {
		undo.repeatAfter = time.Second
	}
}

// cancelID ends an id of ours that we neither hold nor wait for.
func (c *Client) cancelID(id string, n *Name, now clock.Instant) *cleanup {
	if t := c.tenures[id]; t != nil {
		t.unlocks++ // the cancel may release the name, and unlock then finds it gone
	}
	if until := c.coolUntil(id); until > now {
		return n.startRelease(id, until, until, now)
	}
	if undo := c.cancels.Of(id); undo != nil { // a lock may have run after it
		undo.until, undo.answered = now.Add(protocol.QueueTTL), false
		undo.send(now)
		return undo
	}
	undo := c.startCleanup(&cleanup{
		call: n.endCall(script.Cancel, id, "", 0, now), name: n, until: now.Add(protocol.QueueTTL),
	}, now)
	if oldest, full := c.cancels.Add(id, undo); full {
		oldest.finish(now)
	}
	return undo
}

// handOverAfterSplit gives the name to the next waiter after an unlock that only deleted the lock
// key.
func (c *Client) handOverAfterSplit(id string, n *Name, now clock.Instant) {
	c.startCleanup(&cleanup{
		call: n.callFor(script.Unlock, n.unlockArgs(id, "")), name: n,
		until: now.Add(n.Kind.TTL), lockKeyOnly: true,
	}, now)
}

// startRemoval releases an ended tenure in Redis, in the background.
func (t *Tenure) startRemoval(now clock.Instant) *Removal {
	return t.name.startRelease(t.ID, t.CoolUntil, t.GoneBy(), now).removal
}

// startRelease releases the name that an id may still hold. Its lock key has expired at gone, or a ttl
// after the cool-down.
func (n *Name) startRelease(id string, coolUntil, gone, now clock.Instant) *cleanup {
	if coolUntil > now {
		gone = coolUntil.Add(n.Kind.TTL)
	}
	return n.client.startCleanup(&cleanup{call: n.endCall(script.Unlock, id, "", coolUntil, now), name: n, coolUntil: coolUntil, until: gone}, now)
}

// coolUntil returns Lifetime.CoolUntil of an id.
func (c *Client) coolUntil(id string) clock.Instant {
	if t := c.tenures[id]; t != nil {
		return t.CoolUntil
	}
	return c.coolDowns.Of(id)
}

// endCall returns the call that ends an id in Redis: unlock or cancel, or before coolUntil cooldown,
// whose duration is computed again for each try.
func (n *Name) endCall(s *driver.Script, id, successor string, coolUntil, now clock.Instant) driver.Call {
	switch {
	case coolUntil > now:
		return n.callFor(script.Cooldown, []string{id, wire.Millis(coolUntil.Sub(now)), n.Kind.Owner, n.shard, successor})
	case s == script.Cancel:
		return n.callFor(s, []string{id, n.shard})
	}
	return n.callFor(s, n.unlockArgs(id, successor))
}

// Close ends all turns, and rejects all waiters with wire.ErrClosed. It returns the calls that
// clean up in Redis. repeats are cancels that were answered, and should run once more.
func (c *Client) Close(now clock.Instant) (calls, repeats []driver.Call) {
	for _, n := range c.names {
		calls = append(calls, n.close(now)...)
	}
	for _, t := range c.tenures {
		if t.phase == unreleased { // its lease was not released yet
			calls = append(calls, t.name.endCall(script.Unlock, t.ID, "", t.CoolUntil, now))
		}
	}
	for undo := range c.cleanups {
		undo.updateCooldown(now)
		if undo.answered {
			repeats = append(repeats, undo.call)
		} else { // its answer may not come in time
			calls = append(calls, undo.call)
		}
	}
	return calls, repeats
}

// close ends the turn and the waiters of a local name. It returns the calls that clean up in
// Redis.
func (n *Name) close(now clock.Instant) (calls []driver.Call) {
	n.reject(wire.ErrClosed)
	if u := n.turn; u != nil {
		u.end(&Lost{Name: n.Text, Token: u.Token, Cause: lifetime.Closed}, now)
	}
	n.tenure.answerRelease(wire.Failure(n.Text, wire.ErrUnknown, wire.ErrClosed))
	for _, t := range []*Tenure{n.tenure, n.tenure.successor} {
		if t == nil {
			continue
		}
		switch {
		case t.phase >= holding:
			calls = append(calls, n.endCall(script.Unlock, t.ID, "", t.CoolUntil, now))
		case t.firstSent > 0:
			calls = append(calls, n.endCall(script.Cancel, t.ID, "", 0, now))
		}
	}
	if u := n.turn; u != nil && u.Announces() {
		calls = append(calls, u.announcement())
	}
	return calls
}

// cancelStaleID ends an id that Redis still stores although this Client has given it up.
// It ends only ids that this Client remembers: a cloned machine has our client id and
// leases of its own.
func (c *Client) cancelStaleID(id string, now clock.Instant) {
	if n := cmp.Or(c.givenUpIDs.Of(id), c.endedIDs.Of(id)); n != nil {
		c.cancelID(id, n, now)
	}
}

// AwaitLeftover makes the Client call Host.Done with t when Redis stores nothing more of its id. t was
// given up, see Abandon.
func (c *Client) AwaitLeftover(t *Tenure) {
	c.awaitedIDs[t.ID] = t
	c.leftoverProgress(t.ID)
}

// DropLeftover undoes AwaitLeftover: no call waits for it any more.
func (c *Client) DropLeftover(t *Tenure) { delete(c.awaitedIDs, t.ID) }

// leftoverProgress calls Host.Done for a tenure in awaitedIDs, when all its locks and its cancel
// have been answered. It is called after each of these answers.
func (c *Client) leftoverProgress(id string) {
	t := c.awaitedIDs[id]
	if t == nil || t.phase < ended || t.openLocks > 0 {
		return
	}
	if undo := c.cancels.Of(id); undo != nil && !undo.answered {
		return
	}
	delete(c.awaitedIDs, id)
	c.Host.Done(t)
}

// longestRepeat is the longest pause before an answered cancel is sent again. All repeats take
// about 2 min. By then TCP has delivered what a silence of 1 min delayed.
const longestRepeat = 64 * time.Second

// maxCancels bounds the cancels without an answer. There are many if a program gives up many
// names while Redis is silent. If there are too many, the oldest is dropped: its id expires by
// itself.
const maxCancels = 1 << 16
