package holdfast

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// shrunk is what an acquisition of a shared kind knows of a part that was made smaller. From
// then on the tenure has another id, which takes the place of the former one in Redis.
// The renewal and the unlock that name both are right before and after that.
// See docs/shared.md.
type shrunk struct {
	formerIDs []string // the ids before, in order
	replacing bool     // Redis has not replaced them yet
	lastErr   error    // how the newest try failed
}

// shrink makes the part of a turn smaller. waits: Redis has not done so yet; the host learns when it
// has, for the kind.
func (p *process) shrink(u *turn, letter byte, weight int64, now clock.Instant) (waits bool, e *ending) {
	if e := u.hasEnded(now); e != nil {
		return false, e
	}
	n := u.local
	if weight < n.kind.weight {
		n.replaceID(letter, weight)
	}
	if n.kind.shrunk.replacing {
		n.askSmaller(now)
	}
	return n.kind.shrunk.replacing, nil
}

// askSmaller renews at once, which replaces the former ids.
func (n *localName) askSmaller(now clock.Instant) {
	t := n.tenure
	t.renewal = n.renewNow(t, now, 0, 0)
	t.renewAt = min(t.renewAt, now.Add(min(t.ttl/6, 500*time.Millisecond)))
	n.arm(now)
}

// replaceID gives the tenure another id, of a smaller weight. The nonce stays: a revocation
// by Revoke or Steal is stored under it.
func (n *localName) replaceID(letter byte, weight int64) {
	k, t := n.kind, n.tenure
	head := t.id[:len(t.id)-len(k.tail)]
	k.letter, k.weight = letter, weight
	k.tail = keyspace.SharedTail(k.ttl, letter, weight, k.owner)
	k.shrunk.formerIDs = append(k.shrunk.formerIDs, t.id)
	k.shrunk.lastErr = nil
	k.shrunk.replacing = true
	delete(n.p.tenures, t.id)
	n.p.byFormerID[t.id] = t // not in endedIDs yet: that would cancel it when Redis shows it
	t.id = head + k.tail
	n.p.tenures[t.id] = t
}

// idReplaced: Redis has replaced the former ids.
func (n *localName) idReplaced() {
	if n.kind.shrunk.replacing {
		n.kind.shrunk.replacing = false
		n.p.host.done(n.kind)
	}
}

// formerIDsEnded: the tenure has ended, so its former ids are only remembered.
func (n *localName) formerIDsEnded(now clock.Instant) {
	if !n.kind.isShrunk() {
		return
	}
	n.kind.shrunk.replacing = false
	for _, id := range n.kind.shrunk.formerIDs {
		delete(n.p.byFormerID, id)
		n.p.endedIDs.Add(id, n.remembered(now), now, n.kind.ttl+time.Minute)
	}
}

// formerIDSeen: Redis knows a former id of a tenure. A late lock has brought it there, or
// a failover, and then it may be the very part that is held. So it is not cancelled
// before the tenure has ended: a renewal replaces it, or takes it out.
func (n *localName) formerIDSeen(t *tenure, now clock.Instant) {
	switch {
	case t.phase != holding || t.isOver(now):
		t.mayRunLate = true
	case t.renewal != nil && now < t.renewal.sent.Add(50*time.Millisecond):
		t.renewAt = min(t.renewAt, t.renewal.sent.Add(50*time.Millisecond))
		n.arm(now)
	case t.failures == 0: // else it is soon renewed
		n.renew(t, now)
		n.arm(now)
	}
}

// lockID is the id that the locks of a tenure bore.
func (n *localName) lockID(t *tenure) string {
	if n.kind.isShrunk() {
		return n.kind.shrunk.formerIDs[0]
	}
	return t.id
}

// outdated: a request was answered that bore a former id, and may have run when that was
// replaced already. A renewal then says nothing; a lock has left something behind.
func (r *request) outdated() bool {
	return r.local.kind.isShrunk() && r.call.Args[0] != r.tenure.id
}

// outdatedLock undoes what a lock of a former id may have left.
func (n *localName) outdatedLock(t *tenure, err error, now clock.Instant) {
	if _, refused := wire.AsServerError(err); refused {
		return
	}
	if t.phase == past {
		t.mayRunLate = t.mayRunLate || wire.MayStillRun(err)
		n.p.cancelTenure(t, now)
		return
	}
	t.mayRunLate = true // its end cancels it, if no renewal does before
	n.formerIDSeen(t, now)
}

// isShrunk reports whether the part was made smaller.
func (k *kind) isShrunk() bool { return len(k.shrunk.formerIDs) > 0 }

// withFormerIDs adds the former ids to the arguments of a renewal or an unlock.
func (k *kind) withFormerIDs(args []string, suffix string) []string {
	return slices.Concat(args, []string{suffix}, k.shrunk.formerIDs)
}
