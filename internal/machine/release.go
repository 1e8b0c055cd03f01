package machine

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// leaving is what Release waits for. Without an unlock and a removal that is nothing.
type leaving struct {
	Ended   *Ending  // the turn was over before
	Removal *Removal // and this gives the name back
	Unlock  *Request // the host gets its result for the turn
}

// Release gives one share of a turn back. With the last one the name goes to the next waiter
// here, lingers, or is given back.
func (p *Process) Release(u *Turn, now clock.Instant) leaving {
	n, t := u.Local, u.Tenure
	u.shares--
	if e := u.HasEnded(now); e != nil {
		if t.phase == over && u.shares == 0 {
			n.releaseEnded(u, now)
		}
		l := leaving{Ended: e}
		if now < t.Ends() {
			l.Removal = u.releaseDone
		}
		return l
	}
	if u.shares > 0 {
		return leaving{}
	}
	u.finish(wire.ErrReleased, now)
	n.turn = nil
	n.step(now)
	if t.phase != releasing {
		return leaving{}
	}
	n.releaseDone = u
	n.arm(now)
	return leaving{Unlock: n.unlocking}
}

// released ends the tenure that was left, and goes on with the fresh id.
func (n *Name) released(err error, now clock.Instant) {
	t, fresh := n.tenure, n.fresh
	n.fresh, n.unlocking, n.askAt, n.failingSince = nil, nil, 0, 0
	n.P.end(t, now)
	n.P.removalProgress(t.Id)
	n.finishRelease(err)
	n.tenure = fresh
}

// finishRelease answers the call of Release that waits for the unlock.
func (n *Name) finishRelease(err error) {
	if u := n.releaseDone; u != nil {
		n.releaseDone = nil
		n.P.Host.Answer(u, err)
	}
}

func (r *Request) unlockAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Local, r.Tenure
	if n.tenure != t || t.phase != releasing {
		return // it was too late
	}
	if n.unlocking != r && (n.P.Queue || a.Word != "released") {
		return // an earlier one was answered; of a quorum a majority may have confirmed it all the same
	}
	n.unlocking = nil
	fresh := n.fresh
	switch {
	case err != nil:
		if !wire.Transient(err) {
			n.finishRelease(wire.Failure(n.Name, wire.ErrUnknown, err))
		}
		n.unlockFailed(err, r.Sent, now)
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
	// "not held" counts as released where the first of two runs may have done
	// that, or where the lock key may have expired on the way.
	t.minHold.until = 0 // the lock key cools down, or is not ours
	n.released(n.lossAtUnlock(t, a, now), now)
	n.askAt = n.P.Host.NotBefore(n.Name)
	if a.Word == "dropped" { // the queue has yet to be handed over
		n.P.handOverAfterSplit(t.Id, n, now)
	}
	if a.Word == "not held" && a.Holder == "" && r.Call.Script == script.Cooldown { // which hands nothing over
		n.P.handOverAfterSplit(t.Id, n, now)
	}
	switch {
	case fresh == nil:
	case a.Word == "granted":
		n.P.granted(fresh, grant{
			base: a.Base, size: a.Size, waiting: a.Waiting,
			start: r.Sent, ttl: n.Kind.Ttl, recallSure: n.sub.confirmedBefore(r.Sent),
		}, now)
		return
	case a.Word == "queued":
		n.queued(fresh, a, r.Sent, now)
	}
	n.step(now)
}

// lossAtUnlock is the loss that the answer to unlock proves, or nil; see docs/adr/0033.
func (n *Name) lossAtUnlock(t *Tenure, a wire.Answer, now clock.Instant) error {
	if a.Word != "not held" || t.unlocks > 1 || !n.P.SendsOnce() || now >= t.Ends() {
		return nil
	}
	if a.Holder != "" {
		return &Lost{Name: n.Name, Cause: taken}
	}
	return &Lost{Name: n.Name, Cause: gone}
}

func (n *Name) unlockFailed(err error, since, now clock.Instant) {
	if n.failingSince == 0 {
		n.failingSince, n.backoff = since, 10*time.Millisecond
	}
	n.excludeSleep(since.Add(n.P.Attempt()), now)
	n.lastErr = err
	n.askAt = now.Add(n.backoff/2 + n.P.Jitter(n.backoff))
	n.backoff = min(2*n.backoff, time.Second)
}

// tickReleasing repeats an unlock that is not answered, until the lock key must have
// expired.
func (n *Name) tickReleasing(now clock.Instant) {
	if r := n.unlocking; r != nil && now >= r.Sent.Add(r.Attempt) {
		n.unlocking = nil
		n.unlockFailed(wire.ErrNoAnswer, r.Sent, now)
	}
	if n.releaseDone != nil && now >= n.releaseDeadline {
		n.finishRelease(wire.Failure(n.Name, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)))
	}
	if n.failingSince > 0 && now >= n.failingSince.Add(n.P.Patience()) {
		n.reject(wire.Failure(n.Name, wire.ErrUnreachable, n.lastErr))
	}
	switch {
	case now >= n.tenure.goneBy():
		n.released(wire.Failure(n.Name, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)), now)
	case n.unlocking == nil && now >= n.askAt:
		n.sendUnlock(now)
	}
}

// sendRelease sends unlock. When callers are left, a fresh id of this process is
// queued again by the same script.
func (n *Name) sendRelease(now clock.Instant) {
	t := n.tenure
	t.setPhase(releasing)
	n.lingerUntil = 0
	n.fresh = nil
	if n.waiters.anyBlocking() && n.sub.Confirmed && n.P.Queue {
		n.fresh = n.P.newTenure(n)
		n.fresh.firstSent, n.fresh.sentWait = now, true
	}
	n.releaseDeadline = now.Add(n.P.PatienceToRelease())
	n.sendUnlock(now)
}

func (n *Name) sendUnlock(now clock.Instant) {
	id := ""
	if n.fresh != nil {
		id = n.fresh.Id
	}
	s, args := n.endScript(n.tenure.Id, id, n.tenure.minHold.until, now)
	n.tenure.unlocks++
	n.unlocking = n.P.sendScript(s, n, n.tenure, now, args, (*Request).unlockAnswered)
	n.askAt = 0
}

// unlockArgs leaves out what unlock takes for granted: each costs Redis more
// than a look at a key does.
func (n *Name) unlockArgs(id, fresh string) []string {
	switch {
	case fresh != "":
		return []string{id, n.shard, fresh}
	case n.Kind.isShrunk():
		return n.Kind.withFormerIDs([]string{id}, n.shard)
	case n.shard != "":
		return []string{id, n.shard}
	}
	return []string{id}
}
