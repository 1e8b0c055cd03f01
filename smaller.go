package holdfast

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
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
	s, t := n.shared, n.tenure
	head := t.id[:len(t.id)-len(s.tail)]
	s.letter, s.weight = letter, weight
	s.tail = n.p.tailOf(s)
	s.shrunk.formerIDs = append(s.shrunk.formerIDs, t.id)
	s.shrunk.lastErr = nil
	s.shrunk.replacing = true
	delete(n.p.tenures, t.id)
	n.p.byFormerID[t.id] = t // not in endedIDs yet: that would cancel it when Redis shows it
	t.id = head + s.tail
	n.p.tenures[t.id] = t
}

// idReplaced: Redis has replaced the former ids.
func (n *localName) idReplaced() {
	if n.shared != nil && n.shared.shrunk.replacing {
		n.shared.shrunk.replacing = false
		n.p.host.done(n.shared)
	}
}

// formerIDsEnded: the tenure has ended, so its former ids are only remembered.
func (n *localName) formerIDsEnded(now clock.Instant) {
	if n.shared == nil {
		return
	}
	n.shared.shrunk.replacing = false
	for _, id := range n.shared.shrunk.formerIDs {
		delete(n.p.byFormerID, id)
		n.p.endedIDs.Add(id, n.remembered(now), now, n.ttl()+time.Minute)
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
	if n.shared.isShrunk() {
		return n.shared.shrunk.formerIDs[0]
	}
	return t.id
}

// outdated: a request was answered that bore a former id, and may have run when that was
// replaced already. A renewal then says nothing; a lock has left something behind.
func (r *request) outdated() bool {
	return r.local.shared.isShrunk() && r.call.Args[0] != r.tenure.id
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
func (s *shared) isShrunk() bool { return s != nil && len(s.shrunk.formerIDs) > 0 }

// withFormerIDs adds the former ids to the arguments of a renewal or an unlock.
func (s *shared) withFormerIDs(args []string, suffix string) []string {
	return slices.Concat(args, []string{suffix}, s.shrunk.formerIDs)
}
