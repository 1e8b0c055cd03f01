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
	return l.turn.keep("Downgrade", keyspace.Reader, 1)
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
	return l.turn.keep("Keep", keyspace.Permits, int64(n))
}

// smaller is what a line of a shared kind knows of a part that was made smaller. From
// then on the tenure has another id, which takes the place of the former one in Redis.
// The renewal and the unlock that name both are right before and after that.
// See docs/shared.md.
type smaller struct {
	former []string      // the ids before, in order
	asked  chan struct{} // closed when Redis has replaced them; nil: it has, or nothing is asked
	failed error         // how the newest try failed
}

// keep makes the part of a turn smaller, and waits until Redis has done so.
func (u *turn) keep(what string, letter byte, weight int64) error {
	l := u.line
	c := l.c
	c.mu.Lock()
	if l.kind() != kindOf(letter) {
		defer c.unlock()
		return wire.Failure(l.name, nil, fmt.Errorf("%s works for %s, not for %s", what, described(kindOf(letter), 0), described(l.kind(), 0)))
	}
	now := c.clock.Exact()
	if e := u.hasEnded(now); e != nil {
		c.unlock()
		return e.err
	}
	s := l.shared
	if weight < s.weight {
		l.keep(letter, weight)
	}
	if s.smaller.asked == nil {
		c.unlock()
		return nil
	}
	t := u.tenure
	t.renewal = l.renewApart(t, now, 0, 0)
	t.renewAt = min(t.renewAt, now.Add(min(t.life/6, 500*time.Millisecond)))
	l.arm(now)
	done, ended := s.smaller.asked, u.whenDone()
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
	return wire.Failure(l.name, ErrUnknown, cmp.Or(s.smaller.failed, wire.ErrNoAnswer))
}

// keep gives the tenure another id, of a smaller weight. The nonce stays: an order by
// Revoke or Steal is kept under it.
func (l *line) keep(letter byte, weight int64) {
	s, t := l.shared, l.tenure
	head := t.id[:len(t.id)-len(s.tail)]
	s.letter, s.weight = letter, weight
	s.tail = l.c.tailOf(s)
	s.smaller.former = append(s.smaller.former, t.id)
	s.smaller.failed = nil
	if s.smaller.asked == nil {
		s.smaller.asked = make(chan struct{})
	}
	delete(l.c.tenures, t.id)
	l.c.formerly[t.id] = t // no past one yet: that would be cancelled when heard of
	t.id = head + s.tail
	l.c.tenures[t.id] = t
}

// kept: Redis has replaced the former ids.
func (l *line) kept() {
	if l.shared != nil && l.shared.smaller.asked != nil {
		close(l.shared.smaller.asked)
		l.shared.smaller.asked = nil
	}
}

// formerIsPast: the tenure has ended, so its former ids are only remembered.
func (l *line) formerIsPast(now clock.Instant) {
	if l.shared == nil {
		return
	}
	l.shared.smaller.asked = nil
	for _, id := range l.shared.smaller.former {
		delete(l.c.formerly, id)
		l.c.past.Add(id, l.bare(now), now, l.ttl()+time.Minute)
	}
}

// formerStands: Redis knows a former id of a tenure. A late lock has brought it there, or
// a failover, and then it may be the very part that is held. So it is not cancelled
// before the tenure has ended: a renewal replaces it, or takes it out.
func (l *line) formerStands(t *tenure, now clock.Instant) {
	switch {
	case t.phase != holding || t.isOver(now):
		t.lost = true
	case t.renewal != nil && now < t.renewal.sent.Add(50*time.Millisecond):
		t.renewAt = min(t.renewAt, t.renewal.sent.Add(50*time.Millisecond))
		l.arm(now)
	case t.failures == 0: // else it is soon renewed
		l.renew(t, now)
		l.arm(now)
	}
}

// lockedAs is the id that the locks of a tenure bore.
func (l *line) lockedAs(t *tenure) string {
	if l.shared.wasLarger() {
		return l.shared.smaller.former[0]
	}
	return t.id
}

// overtaken: a request was answered that bore a former id, and may have run when that was
// replaced already. A renewal then says nothing; a lock has left something behind.
func (r *request) overtaken() bool {
	return r.line.shared.wasLarger() && r.call.Args[0] != r.tenure.id
}

// lockOvertaken undoes what a lock of a former id may have left.
func (l *line) lockOvertaken(t *tenure, err error, now clock.Instant) {
	if _, refused := wire.AsServerError(err); refused {
		return
	}
	if t.phase == past {
		t.lost = t.lost || wire.MayStillRun(err)
		l.c.cancelFor(t, now)
		return
	}
	t.lost = true // its end cancels it, if no renewal does before
	l.formerStands(t, now)
}

// wasLarger reports whether the part was made smaller.
func (s *shared) wasLarger() bool { return s != nil && len(s.smaller.former) > 0 }

// withFormer adds the former ids to the arguments of a renewal or an unlock.
func (s *shared) withFormer(args []string, suffix string) []string {
	return slices.Concat(args, []string{suffix}, s.smaller.former)
}
