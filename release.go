package holdfast

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// leaving is what Release waits for. Without an unlock and a removal that is nothing.
type leaving struct {
	ended   *ending  // the turn was over before
	removal *removal // and this gives the name back
	unlock  *request // the host gets its result for the turn
}

// release gives one share of a turn back. With the last one the name goes to the next waiter
// here, lingers, or is given back.
func (p *process) release(u *turn, now clock.Instant) leaving {
	n, t := u.local, u.tenure
	u.shares--
	if e := u.hasEnded(now); e != nil {
		if t.phase == over && u.shares == 0 {
			n.releaseEnded(u, now)
		}
		l := leaving{ended: e}
		if now < t.ends() {
			l.removal = u.releaseDone
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
	return leaving{unlock: n.unlocking}
}

// released ends the tenure that was left, and goes on with the fresh id.
func (n *localName) released(err error, now clock.Instant) {
	t, fresh := n.tenure, n.fresh
	n.fresh, n.unlocking, n.askAt, n.failingSince = nil, nil, 0, 0
	n.p.end(t, now)
	n.p.removalProgress(t.id)
	n.finishRelease(err)
	n.tenure = fresh
}

// finishRelease answers the call of Release that waits for the unlock.
func (n *localName) finishRelease(err error) {
	if u := n.releaseDone; u != nil {
		n.releaseDone = nil
		n.p.host.answer(u, err)
	}
}

func (r *request) unlockAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.local, r.tenure
	if n.tenure != t || t.phase != releasing {
		return // it was too late
	}
	if n.unlocking != r && (n.p.queue || a.Word != "released") {
		return // an earlier one was answered; of a quorum a majority may have confirmed it all the same
	}
	n.unlocking = nil
	fresh := n.fresh
	switch {
	case err != nil:
		if !wire.Transient(err) {
			n.finishRelease(wire.Failure(n.name, wire.ErrUnknown, err))
		}
		n.unlockFailed(err, r.sent, now)
		n.arm(now)
		return
	case a.Word == "again":
		if !n.kind.shared() {
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
	n.askAt = n.p.host.notBefore(n.name)
	if a.Word == "dropped" { // the queue has yet to be handed over
		n.p.handOverAfterSplit(t.id, n, now)
	}
	if a.Word == "not held" && a.Holder == "" && r.call.Script == script.Cooldown { // which hands nothing over
		n.p.handOverAfterSplit(t.id, n, now)
	}
	switch {
	case fresh == nil:
	case a.Word == "granted":
		n.p.granted(fresh, grant{
			base: a.Base, size: a.Size, waiting: a.Waiting,
			start: r.sent, ttl: n.kind.ttl, recallSure: n.sub.confirmedBefore(r.sent),
		}, now)
		return
	case a.Word == "queued":
		n.queued(fresh, a, r.sent, now)
	}
	n.step(now)
}

// lossAtUnlock is the loss that the answer to unlock proves, or nil; see docs/adr/0033.
func (n *localName) lossAtUnlock(t *tenure, a wire.Answer, now clock.Instant) error {
	if a.Word != "not held" || t.unlocks > 1 || !n.p.sendsOnce() || now >= t.ends() {
		return nil
	}
	if a.Holder != "" {
		return &lost{name: n.name, cause: taken}
	}
	return &lost{name: n.name, cause: gone}
}

func (n *localName) unlockFailed(err error, since, now clock.Instant) {
	if n.failingSince == 0 {
		n.failingSince, n.backoff = since, 10*time.Millisecond
	}
	n.excludeSleep(since.Add(n.p.attempt()), now)
	n.lastErr = err
	n.askAt = now.Add(n.backoff/2 + n.p.jitter(n.backoff))
	n.backoff = min(2*n.backoff, time.Second)
}

// tickReleasing repeats an unlock that is not answered, until the lock key must have
// expired.
func (n *localName) tickReleasing(now clock.Instant) {
	if r := n.unlocking; r != nil && now >= r.sent.Add(r.attempt) {
		n.unlocking = nil
		n.unlockFailed(wire.ErrNoAnswer, r.sent, now)
	}
	if n.releaseDone != nil && now >= n.releaseDeadline {
		n.finishRelease(wire.Failure(n.name, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)))
	}
	if n.failingSince > 0 && now >= n.failingSince.Add(n.p.patience()) {
		n.reject(wire.Failure(n.name, wire.ErrUnreachable, n.lastErr))
	}
	switch {
	case now >= n.tenure.goneBy():
		n.released(wire.Failure(n.name, wire.ErrUnknown, cmp.Or(n.lastErr, wire.ErrNoAnswer)), now)
	case n.unlocking == nil && now >= n.askAt:
		n.sendUnlock(now)
	}
}

// sendRelease sends unlock. When callers are left, a fresh id of this process is
// queued again by the same script.
func (n *localName) sendRelease(now clock.Instant) {
	t := n.tenure
	t.setPhase(releasing)
	n.lingerUntil = 0
	n.fresh = nil
	if n.waiters.anyBlocking() && n.sub.confirmed && n.p.queue {
		n.fresh = n.p.newTenure(n)
		n.fresh.firstSent, n.fresh.sentWait = now, true
	}
	n.releaseDeadline = now.Add(n.p.patienceToRelease())
	n.sendUnlock(now)
}

func (n *localName) sendUnlock(now clock.Instant) {
	id := ""
	if n.fresh != nil {
		id = n.fresh.id
	}
	s, args := n.endScript(n.tenure.id, id, n.tenure.minHold.until, now)
	n.tenure.unlocks++
	n.unlocking = n.p.sendScript(s, n, n.tenure, now, args, (*request).unlockAnswered)
	n.askAt = 0
}

// unlockArgs leaves out what unlock takes for granted: each costs Redis more
// than a look at a key does.
func (n *localName) unlockArgs(id, fresh string) []string {
	switch {
	case fresh != "":
		return []string{id, n.shard, fresh}
	case n.kind.isShrunk():
		return n.kind.withFormerIDs([]string{id}, n.shard)
	case n.shard != "":
		return []string{id, n.shard}
	}
	return []string{id}
}
