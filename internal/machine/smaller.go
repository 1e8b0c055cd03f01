package machine

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
	LastErr   error    // how the newest try failed
}

// Shrink makes the part of a turn smaller. waits: Redis has not done so yet; the host learns when it
// has, for the kind.
func (p *Process) Shrink(u *Turn, letter byte, weight int64, now clock.Instant) (waits bool, e *Ending) {
	if e := u.HasEnded(now); e != nil {
		return false, e
	}
	n := u.Local
	if weight < n.Kind.weight {
		n.replaceID(letter, weight)
	}
	if n.Kind.Shrunk.replacing {
		n.askSmaller(now)
	}
	return n.Kind.Shrunk.replacing, nil
}

// askSmaller renews at once, which replaces the former ids.
func (n *Name) askSmaller(now clock.Instant) {
	t := n.tenure
	t.renewal = n.renewNow(t, now, 0, 0)
	t.renewAt = min(t.renewAt, now.Add(min(t.ttl/6, 500*time.Millisecond)))
	n.arm(now)
}

// replaceID gives the tenure another id, of a smaller weight. The nonce stays: a revocation
// by Revoke or Steal is stored under it.
func (n *Name) replaceID(letter byte, weight int64) {
	k, t := n.Kind, n.tenure
	head := t.Id[:len(t.Id)-len(k.tail)]
	k.Letter, k.weight = letter, weight
	k.tail = keyspace.SharedTail(k.Ttl, letter, weight, k.Owner)
	k.Shrunk.formerIDs = append(k.Shrunk.formerIDs, t.Id)
	k.Shrunk.LastErr = nil
	k.Shrunk.replacing = true
	delete(n.P.tenures, t.Id)
	n.P.byFormerID[t.Id] = t // not in endedIDs yet: that would cancel it when Redis shows it
	t.Id = head + k.tail
	n.P.tenures[t.Id] = t
}

// idReplaced: Redis has replaced the former ids.
func (n *Name) idReplaced() {
	if n.Kind.Shrunk.replacing {
		n.Kind.Shrunk.replacing = false
		n.P.Host.Done(n.Kind)
	}
}

// formerIDsEnded: the tenure has ended, so its former ids are only remembered.
func (n *Name) formerIDsEnded(now clock.Instant) {
	if !n.Kind.isShrunk() {
		return
	}
	n.Kind.Shrunk.replacing = false
	for _, id := range n.Kind.Shrunk.formerIDs {
		delete(n.P.byFormerID, id)
		n.P.endedIDs.Add(id, n.remembered(now), now, n.Kind.Ttl+time.Minute)
	}
}

// formerIDSeen: Redis knows a former id of a tenure. A late lock has brought it there, or
// a failover, and then it may be the very part that is held. So it is not cancelled
// before the tenure has ended: a renewal replaces it, or takes it out.
func (n *Name) formerIDSeen(t *Tenure, now clock.Instant) {
	switch {
	case t.phase != holding || t.isOver(now):
		t.mayRunLate = true
	case t.renewal != nil && now < t.renewal.Sent.Add(50*time.Millisecond):
		t.renewAt = min(t.renewAt, t.renewal.Sent.Add(50*time.Millisecond))
		n.arm(now)
	case t.failures == 0: // else it is soon renewed
		n.renew(t, now)
		n.arm(now)
	}
}

// lockID is the id that the locks of a tenure bore.
func (n *Name) lockID(t *Tenure) string {
	if n.Kind.isShrunk() {
		return n.Kind.Shrunk.formerIDs[0]
	}
	return t.Id
}

// outdated: a request was answered that bore a former id, and may have run when that was
// replaced already. A renewal then says nothing; a lock has left something behind.
func (r *Request) outdated() bool {
	return r.Local.Kind.isShrunk() && r.Call.Args[0] != r.Tenure.Id
}

// outdatedLock undoes what a lock of a former id may have left.
func (n *Name) outdatedLock(t *Tenure, err error, now clock.Instant) {
	if _, refused := wire.AsServerError(err); refused {
		return
	}
	if t.phase == past {
		t.mayRunLate = t.mayRunLate || wire.MayStillRun(err)
		n.P.cancelTenure(t, now)
		return
	}
	t.mayRunLate = true // its end cancels it, if no renewal does before
	n.formerIDSeen(t, now)
}

// isShrunk reports whether the part was made smaller.
func (k *Kind) isShrunk() bool { return len(k.Shrunk.formerIDs) > 0 }

// withFormerIDs adds the former ids to the arguments of a renewal or an unlock.
func (k *Kind) withFormerIDs(args []string, suffix string) []string {
	return slices.Concat(args, []string{suffix}, k.Shrunk.formerIDs)
}
