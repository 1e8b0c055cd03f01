package holdfast

import (
	"context"
	"errors"
	"strconv"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// Steal takes the name from its holder at once and returns a lease of it. Waiters keep
// their places and wait for this lease to end. TWO PROCESSES CAN BELIEVE THAT THEY HOLD
// THE NAME until the old holder notices the loss: see [Client.Steal].
//
// The tenure is the hash of the holder you mean, from [Holder.Hash]. If it does not hold
// the name any more, Steal returns [ErrTenure] and changes nothing. The holder can read
// the first 200 bytes of reason. The lease is like that of Lock, with the fields of
// this Mutex.
//
// Steal waits only for Redis, and ctx bounds that. After [ErrUnreachable] or the error
// of ctx, the old holder may have lost the name; the next waiter then gets it. After
// [ErrTooSlow] or [ErrReplicas] the old holder has lost the name. Other errors:
// [ErrName], [ErrClosed], a [driver.ServerError], and an error for a bad tenure or reason. It
// returns [ErrKind] for a Semaphore or RWMutex: use Client.Steal. A Client of a quorum
// returns an error.
func (m *Mutex) Steal(ctx context.Context, tenure, reason string) (*Lease, error) {
	if err := m.checkHold(); err != nil {
		return nil, err
	}
	c := m.client.core
	o, err := c.meant(ctx, "Mutex.Steal", m.name, tenure, reason)
	if err != nil {
		return nil, err
	}
	if o.other != nil {
		e := &KindError{Name: m.name, Kind: KindMutex}
		e.usedAs(*o.other)
		return nil, e
	}
	w := c.newCaller(false)
	w.least, w.most, w.grace = m.MinHold, m.MaxHold, m.Grace
	defer w.free(c)
	if err := c.take(m, w, o); err != nil {
		return nil, err
	}
	return w.await(ctx, m.client)
}

// take sets out to take a name, in a line of its own: callers of this process that wait
// for the name stand in Q, where they were.
func (c *core) take(m *Mutex, w *caller, o *order) error {
	c.mu.Lock()
	defer c.unlock()
	if c.closed {
		return ErrClosed
	}
	now := c.clock.Now()
	l := c.newLine(m.name+"\x00steal"+strconv.FormatUint(c.random(), 36), m.name, o.keys, nil) // no name has a zero byte
	l.apart, l.takes = m.apartness(), o
	l.tenure = c.newTenure(l)
	l.admit(w, now)
	l.step(now)
	return nil
}

// args are what take needs beside the id and the stride.
func (o *order) args(l *line) []string { return []string{l.shard, o.id, o.reason} }

var errMayHaveTaken = errors.New("an earlier attempt had no answer and may have ended the tenure; " +
	"now the name is free or has another holder")

// notTaken: another holds the name by now, or nobody. It may have been taken in between, by
// a run that was not answered in time.
func (l *line) notTaken(a wire.Answer) {
	if t := l.tenure; t.open > 0 || t.late > 0 {
		l.reject(wire.Failure(l.name, ErrUnreachable, errMayHaveTaken))
		return
	}
	e := &TenureError{Name: l.name}
	if x := l.takes; x != nil { // no other lock is answered so
		e.Tenure = x.tenure
	}
	if a.Holder != "" {
		e.Holder = l.c.holder(a.Holder, 0, 0)
	}
	l.standsNowhere()
	l.reject(e)
}
