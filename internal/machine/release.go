package machine

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
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
func (p *Process) Release(u *Turn, now clock.Instant) ReleaseResult {
	n, t := u.Local, u.Tenure
	u.shares--
	if e := u.HasEnded(now); e != nil {
		if t.phase == unreleased && u.shares == 0 {
			n.releaseEnded(u, now)
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
	u.finish(wire.ErrReleased, now)
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
	t.finishRelease(err)
	n.askAt, n.failingSince = 0, 0
	n.p.end(t, now)
	n.p.removalProgress(t.ID)
	n.tenure = successor
}

// finishRelease answers the call of Release that waits for the unlock.
func (t *Tenure) finishRelease(err error) {
	if u := t.awaitedTurn; u != nil {
		t.awaitedTurn = nil
		t.local.p.Host.Answer(u, err)
	}
}

func (r *Request) unlockAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Local, r.Tenure
	if n.tenure != t || t.phase != releasing {
		return // it was too late
	}
	if t.unlocking != r && (n.p.Queue || a.Word != "released") {
		return // the answer to an earlier unlock; on a quorum a majority may confirm that one later
	}
	t.unlocking = nil
	successor := t.successor
	switch {
	case err != nil:
		if !wire.Transient(err) {
			t.finishRelease(wire.Failure(n.Name, wire.ErrUnknown, err))
		}
		n.retryLater(err, r.Sent, now)
		n.arm(now)
		return
	case a.Word == "again":
		if !n.Kind.Shared() {
			t.unlocks-- // it has released nothing; shared_unlock has
		}
		n.sendUnlock(now)
		n.arm(now)
		return
	}
	// "not held" counts as released: an earlier run of the script may have released the name,
	// or the lock key may have expired before the script ran.
	t.minHold.until = 0 // the lock key cools down, or is not ours
	n.released(n.lossAtUnlock(t, a, now), now)
	n.askAt = n.p.Host.NotBefore(n.Name)
	if a.Word == "dropped" { // only the lock key is deleted: the next waiter must get the name
		n.p.handOverAfterSplit(t.ID, n, now)
	}
	if a.Word == "not held" && a.Holder == "" && r.Call.Script == script.Cooldown { // cooldown hands nothing over
		n.p.handOverAfterSplit(t.ID, n, now)
	}
	switch {
	case successor == nil:
	case a.Word == "granted":
		n.lockGranted(successor, r, a, now)
		return
	case a.Word == "queued":
		n.queued(successor, a, r.Sent, now)
	}
	n.step(now)
}

// lossAtUnlock returns the loss that the answer to unlock proves, or nil; see docs/adr/0033-a-store-that-sends-once.md.
func (n *Name) lossAtUnlock(t *Tenure, a wire.Answer, now clock.Instant) error {
	if a.Word != "not held" || t.unlocks > 1 || !n.p.SendsOnce() || now >= t.Ends() {
		return nil
	}
	if a.Holder != "" {
		return &Lost{Name: n.Name, Cause: taken}
	}
	return &Lost{Name: n.Name, Cause: gone}
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
		t.finishRelease(wire.Failure(n.Name, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)))
	}
	if n.failingSince > 0 && now >= n.failingSince.Add(n.p.Patience()) {
		n.reject(wire.Failure(n.Name, wire.ErrUnreachable, n.lastErr))
	}
	switch {
	case now >= t.goneBy():
		n.released(wire.Failure(n.Name, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)), now)
	case t.unlocking == nil && now >= n.askAt:
		n.sendUnlock(now)
	}
}

// sendRelease sends unlock. If blocking local waiters are left, the same script
// queues the id of a successor.
func (n *Name) sendRelease(now clock.Instant) {
	t := n.tenure
	t.setPhase(releasing)
	if n.waiters.anyBlocking() && n.sub.Confirmed && n.p.Queue {
		t.successor = n.p.newTenure(n)
		t.successor.firstSent, t.successor.sentWait = now, true
	}
	t.releaseDeadline = now.Add(n.p.PatienceToRelease())
	n.sendUnlock(now)
}

func (n *Name) sendUnlock(now clock.Instant) {
	t := n.tenure
	id := ""
	if t.successor != nil {
		id = t.successor.ID
	}
	s, args := n.endScript(t.ID, id, t.minHold.until, now)
	t.unlocks++
	t.unlocking = n.p.sendScript(s, n, t, now, args, (*Request).unlockAnswered)
	n.askAt = 0
}

// unlockArgs omits arguments that have their defaults: each argument costs Redis
// more than the read of a key.
func (n *Name) unlockArgs(id, successor string) []string {
	switch {
	case successor != "":
		return []string{id, n.shard, successor}
	case n.Kind.isShrunk():
		return n.Kind.withFormerIDs([]string{id}, n.shard)
	case n.shard != "":
		return []string{id, n.shard}
	}
	return []string{id}
}

// cleanup is a script that only removes state that the client no longer owns. It is
// repeated until Redis answers, or until the keys have expired by themselves.
type cleanup struct {
	p           *Process
	call        driver.Call
	local       *Name
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
func (p *Process) startCleanup(c *cleanup, now clock.Instant) *cleanup {
	c.p, c.wait, c.removal = p, 10*time.Millisecond, &Removal{}
	c.timer = clock.Timer{Fire: c.send}
	p.cleanups[c] = struct{}{}
	c.send(now)
	return c
}

// Removal is a cleanup that a call may wait for.
type Removal struct {
	Ended bool
	of    *Turn // the end of this turn is announced after the cleanup; nil: nothing is
}

func (c *cleanup) send(now clock.Instant) {
	if c.p.Closed {
		return
	}
	c.p.Schedule.Stop(&c.timer)
	c.updateCooldown(now)
	c.asking = c.p.sendScript(c.call.Script, c.local, nil, now, c.call.Args, c.handleAnswer)
	c.asking.Call.Keys, c.asking.NoFallback = c.call.Keys, c.lockKeyOnly
}

// updateCooldown computes again how long the cool-down lasts.
func (c *cleanup) updateCooldown(now clock.Instant) {
	if c.coolUntil > 0 {
		c.call.Script, c.call.Args = c.local.endScript(c.call.Args[0], "", c.coolUntil, now)
	}
}

func (c *cleanup) handleAnswer(r *Request, a wire.Answer, err error, now clock.Instant) {
	switch {
	case c.asking != r: // it was sent again, or the cleanup has ended
		return
	case err == nil && a.Word == "again":
		c.send(now)
		return
	case (err == nil && a.Word == "dropped" || err != nil && wire.Transient(err)) && now < c.until:
		c.lockKeyOnly = c.lockKeyOnly || err == nil
		c.wait = clock.Backoff(c.wait, len(c.p.cleanups))
		c.p.Schedule.Set(&c.timer, now.Add(c.wait/2+c.p.Jitter(c.wait)), now)
		return
	case err == nil && c.repeatAfter > 0:
		c.answered = true
		c.p.removalProgress(c.call.Args[0])
		c.p.Schedule.Set(&c.timer, now.Add(c.repeatAfter+time.Duration(len(c.p.cleanups))*2*time.Millisecond), now)
		if c.repeatAfter *= 2; c.repeatAfter > longestRepeat {
			c.repeatAfter = 0
		}
		return
	case err != nil:
		c.p.Host.Warn("holdfast: cleanup failed; the remaining keys expire by themselves", "name", c.local.Name, "script", c.call.Script.Name, "error", err)
	}
	c.end(now)
}

// end removes a cleanup from Process.cleanups, done or not.
func (c *cleanup) end(now clock.Instant) {
	delete(c.p.cleanups, c)
	c.asking = nil
	c.p.Schedule.Stop(&c.timer)
	c.p.cancels.Remove(c.call.Args[0], c)
	c.removal.Ended = true
	c.p.Host.Done(c.removal)
	if u := c.removal.of; u != nil {
		u.Local.announce(u, now)
	}
	c.p.removalProgress(c.call.Args[0])
}

// cancelTenure cancels the id of a tenure that was given up, or has ended. If a lock of it had no
// answer in time, the cancel is repeated even after its answer: TCP may still deliver that lock,
// on a connection that the client library has long closed, so that its answer never comes.
func (p *Process) cancelTenure(t *Tenure, now clock.Instant) {
	if c := p.cancelID(t.local.lockID(t), t.local, now); t.mayRunLate {
		c.repeatAfter = time.Second
	}
}

// cancelID ends an id of ours that we neither hold nor wait for.
func (p *Process) cancelID(id string, n *Name, now clock.Instant) *cleanup {
	if t := p.tenures[id]; t != nil {
		t.unlocks++ // the cancel may release the name, and unlock then finds it gone
	}
	if minHold := p.minHoldEnd(id); minHold > now {
		return p.coolDown(id, n, now, minHold)
	}
	if c := p.cancels.Of(id); c != nil { // a lock may have run after it
		c.until, c.answered = now.Add(protocol.QueueTTL), false
		c.send(now)
		return c
	}
	c := p.startCleanup(&cleanup{
		call: n.callFor(script.Cancel, []string{id, n.shard}), local: n, until: now.Add(protocol.QueueTTL),
	}, now)
	if oldest, full := p.cancels.Add(id, c); full {
		oldest.end(now)
	}
	return c
}

// handOverAfterSplit gives the name to the next waiter after an unlock that only deleted the lock
// key.
func (p *Process) handOverAfterSplit(id string, n *Name, now clock.Instant) {
	p.startCleanup(&cleanup{
		call: n.callFor(script.Unlock, n.unlockArgs(id, "")), local: n,
		until: now.Add(n.Kind.TTL), lockKeyOnly: true,
	}, now)
}

// startRemoval releases an ended tenure in Redis, in the background.
func (n *Name) startRemoval(t *Tenure, now clock.Instant) *Removal {
	if t.inMinHold(now) {
		return n.p.coolDown(t.ID, n, now, t.minHold.until).removal
	}
	return n.p.startCleanup(&cleanup{
		call: n.callFor(script.Unlock, n.unlockArgs(t.ID, "")), local: n, until: t.goneBy(),
	}, now).removal
}

// coolDown starts the cool-down of a name that an id still holds.
func (p *Process) coolDown(id string, n *Name, now, until clock.Instant) *cleanup {
	return p.startCleanup(&cleanup{call: driver.Call{Script: script.Cooldown, Keys: n.Keys[:], Args: []string{id}}, local: n, coolUntil: until, until: until.Add(n.Kind.TTL)}, now)
}

// minHoldEnd returns when the MinHold of an id is over; 0: it has none, or the cool-down has
// begun.
func (p *Process) minHoldEnd(id string) clock.Instant {
	if t := p.tenures[id]; t != nil {
		return t.minHold.until
	}
	return p.minHolds[id]
}

// rememberMinHold remembers the MinHold of an ended id: until then no cancel may give the
// name away.
func (p *Process) rememberMinHold(t *Tenure, now clock.Instant) {
	if t.inMinHold(now) {
		p.minHolds[t.ID] = t.minHold.until
		p.Later(t.minHold.until, now, t.minHoldOver)
	}
}

func (t *Tenure) minHoldOver(clock.Instant) { delete(t.local.p.minHolds, t.ID) }

// endScript returns the script that ends a tenure in Redis, with its arguments. Before MinHold is
// over it is cooldown, whose duration is computed again for each try.
func (n *Name) endScript(id, successor string, coolUntil, now clock.Instant) (*driver.Script, []string) {
	if coolUntil > now {
		return script.Cooldown, []string{id, wire.Millis(coolUntil.Sub(now)), n.Kind.Owner, n.shard, successor}
	}
	return script.Unlock, n.unlockArgs(id, successor)
}

// ShutDown ends all turns, and rejects all waiters with wire.ErrClosed. It returns the calls that
// clean up in Redis. repeats are cancels that were answered, and should run once more.
func (p *Process) ShutDown(now clock.Instant) (calls, repeats []driver.Call) {
	for _, n := range p.names {
		calls = append(calls, n.endAll(now)...)
	}
	for _, t := range p.tenures {
		if t.phase == unreleased { // its lease was not released yet
			calls = append(calls, p.endCall(t.ID, t.local, script.Unlock, now))
		}
	}
	for c := range p.cleanups {
		c.updateCooldown(now)
		if c.answered {
			repeats = append(repeats, c.call)
		} else { // its answer may not come in time
			calls = append(calls, c.call)
		}
	}
	return calls, repeats
}

// endAll ends the turn and the waiters of a local name. It returns the calls that clean up in
// Redis.
func (n *Name) endAll(now clock.Instant) (calls []driver.Call) {
	n.reject(wire.ErrClosed)
	if u := n.turn; u != nil {
		u.finish(&Lost{Name: n.Name, Token: u.Token, Cause: closed}, now)
	}
	n.tenure.finishRelease(wire.Failure(n.Name, wire.ErrUnknown, wire.ErrClosed))
	for _, t := range []*Tenure{n.tenure, n.tenure.successor} {
		if t == nil {
			continue
		}
		switch {
		case t.phase >= holding:
			calls = append(calls, n.p.endCall(t.ID, n, script.Unlock, now))
		case t.firstSent > 0:
			calls = append(calls, n.p.endCall(t.ID, n, script.Cancel, now))
		}
	}
	if u := n.turn; u != nil && u.Announces() {
		calls = append(calls, n.announcement(u))
	}
	return calls
}

// endCall returns the call by which Close ends an id: s, or cooldown if the name must cool down.
func (p *Process) endCall(id string, local *Name, s *driver.Script, now clock.Instant) driver.Call {
	until := p.minHoldEnd(id)
	if until == 0 && s == script.Cancel {
		return local.callFor(s, []string{id, local.shard})
	}
	s, args := local.endScript(id, "", until, now)
	return local.callFor(s, args)
}

// cancelStaleID ends an id that Redis still stores although this process has given it up.
// It ends only ids that this process remembers: a cloned machine has our client id and
// leases of its own.
func (p *Process) cancelStaleID(id string, now clock.Instant) {
	if t := p.byFormerID[id]; t != nil {
		t.local.formerIDSeen(t, now)
	} else if n := cmp.Or(p.givenUpIDs.Of(id), p.endedIDs.Of(id)); n != nil {
		p.cancelID(id, n, now)
	}
}

// AwaitRemoval makes the process call Host.Done with t when Redis stores nothing more of its id. t was
// given up, see Abandon.
func (p *Process) AwaitRemoval(t *Tenure) {
	p.awaitedIDs[t.ID] = t
	p.removalProgress(t.ID)
}

// ForgetRemoval undoes AwaitRemoval: no call waits for it any more.
func (p *Process) ForgetRemoval(t *Tenure) { delete(p.awaitedIDs, t.ID) }

// removalProgress calls Host.Done for a tenure in awaitedIDs, when all its locks and its cancel
// have been answered. It is called after each of these answers.
func (p *Process) removalProgress(id string) {
	t := p.awaitedIDs[id]
	if t == nil || t.phase < ended || t.openLocks > 0 {
		return
	}
	if c := p.cancels.Of(id); c != nil && !c.answered {
		return
	}
	delete(p.awaitedIDs, id)
	p.Host.Done(t)
}

// longestRepeat is the longest pause before an answered cancel is sent again. All repeats take
// about 2 min. By then TCP has delivered what a silence of 1 min delayed.
const longestRepeat = 64 * time.Second

// maxCancels bounds the cancels without an answer. There are many if a program gives up many
// names while Redis is silent. If there are too many, the oldest is dropped: its id expires by
// itself.
const maxCancels = 1 << 16
