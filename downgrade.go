package holdfast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Downgrade makes a writer's lease of an [RWMutex] a reader's lease, with no other
// writer in between. Stop writing before you call it. The lease keeps its token and its
// contexts. Readers that queue before the next writer get the lock at once. A reader's
// lease does not change.
//
// Downgrade takes no context, like [Lease.Release]. It blocks for two seconds at most
// and then retries in the background. After [ErrUnknown] the lease counts as a reader's
// lease, but Redis has not confirmed it yet; each renewal and each further call asks
// again. Other errors: [ErrLost] with its cause, [ErrReleased], and an error for a
// lease that is not of an RWMutex.
func (l *Lease) Downgrade() error {
	return l.turn.shrink("Downgrade", keyspace.Reader, 1)
}

// Keep releases all but n permits of a lease of a [Semaphore]. Waiters get the permits
// at once. The lease keeps its token and its contexts. A lease with n permits or fewer
// does not change.
//
// Keep blocks and fails like [Lease.Downgrade]. An n below 1 returns [ErrSize]: use
// Release to give all permits back. A lease that is not of a Semaphore returns an
// error.
func (l *Lease) Keep(n int) error {
	if n < 1 {
		return fmt.Errorf("%w: a lease of %s can't keep %d", ErrSize, l.Name(), n)
	}
	return l.turn.shrink("Keep", keyspace.Permits, int64(n))
}

// shrunk is what an acquisition of a shared kind knows of a part that was made smaller. From
// then on the tenure has another id, which takes the place of the former one in Redis.
// The renewal and the unlock that name both are right before and after that.
// See docs/shared.md.
type shrunk struct {
	formerIDs []string      // the ids before, in order
	replaced  chan struct{} // closed when Redis has replaced them; nil: it has, or nothing is asked
	lastErr   error         // how the newest try failed
}

// shrink makes the part of a turn smaller, and waits until Redis has done so.
func (u *turn) shrink(what string, letter byte, weight int64) error {
	n := u.local
	c := n.c
	c.mu.Lock()
	if n.kind() != kindOf(letter) {
		defer c.unlock()
		return wire.Failure(n.name, nil, fmt.Errorf("%s works for %s, not for %s", what, described(kindOf(letter), 0), described(n.kind(), 0)))
	}
	now := c.clock.Exact()
	if e := u.hasEnded(now); e != nil {
		c.unlock()
		return e.err
	}
	s := n.shared
	if weight < s.weight {
		n.replaceID(letter, weight)
	}
	if s.shrunk.replaced == nil {
		c.unlock()
		return nil
	}
	t := u.tenure
	t.renewal = n.renewNow(t, now, 0, 0)
	t.renewAt = min(t.renewAt, now.Add(min(t.ttl/6, 500*time.Millisecond)))
	n.arm(now)
	done, ended := s.shrunk.replaced, u.whenDone()
	c.unlock()

	late := time.NewTimer(c.patienceToRelease())
	defer late.Stop()
	select {
	case <-done:
		return nil
	case <-ended:
		return u.err()
	case <-late.C:
	case <-c.stopped:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return wire.Failure(n.name, ErrUnknown, cmp.Or(s.shrunk.lastErr, wire.ErrNoAnswer))
}

// replaceID gives the tenure another id, of a smaller weight. The nonce stays: a revocation
// by Revoke or Steal is stored under it.
func (n *localName) replaceID(letter byte, weight int64) {
	s, t := n.shared, n.tenure
	head := t.id[:len(t.id)-len(s.tail)]
	s.letter, s.weight = letter, weight
	s.tail = n.c.tailOf(s)
	s.shrunk.formerIDs = append(s.shrunk.formerIDs, t.id)
	s.shrunk.lastErr = nil
	if s.shrunk.replaced == nil {
		s.shrunk.replaced = make(chan struct{})
	}
	delete(n.c.tenures, t.id)
	n.c.byFormerID[t.id] = t // not in endedIDs yet: that would cancel it when Redis shows it
	t.id = head + s.tail
	n.c.tenures[t.id] = t
}

// idReplaced: Redis has replaced the former ids.
func (n *localName) idReplaced() {
	if n.shared != nil && n.shared.shrunk.replaced != nil {
		close(n.shared.shrunk.replaced)
		n.shared.shrunk.replaced = nil
	}
}

// formerIDsEnded: the tenure has ended, so its former ids are only remembered.
func (n *localName) formerIDsEnded(now clock.Instant) {
	if n.shared == nil {
		return
	}
	n.shared.shrunk.replaced = nil
	for _, id := range n.shared.shrunk.formerIDs {
		delete(n.c.byFormerID, id)
		n.c.endedIDs.Add(id, n.remembered(now), now, n.ttl()+time.Minute)
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
		n.c.cancelTenure(t, now)
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
