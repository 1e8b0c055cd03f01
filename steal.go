package holdfast

import (
	"context"
	"errors"
	"strconv"
)

// Steal takes the name from its holder at once, as Client.Steal does, and returns a lease
// of it: the next holder is the caller, and not the first of those who wait. They keep
// their places and go on when this lease ends. UNTIL THE ONE WHO HAD IT HEARS OF THAT, TWO
// BELIEVE THAT THEY HOLD THE NAME: see Client.Steal.
//
// tenure is the hash of the tenure that is meant, as Inspect gives it. If that does not
// hold the name any more the error is ErrTenure, and nobody has lost anything. reason is for
// people: the holder reads its first 200 bytes, without what can't be printed. The lease is
// as Lock would return it, with the Mutex's MinHold, MaxHold, Grace, Owner and TTL.
//
// Steal does not wait for anybody but Redis; ctx bounds that. It costs two round trips: a
// look, and the script that ends one tenure and begins the other. After ErrUnreachable,
// or if ctx ends meanwhile, it is unknown whether the holder was ended; if it was, the
// waiters get the name. Steal also returns ErrUnreachable if its first try was not answered in time, and
// a second try found the name free or held by another. After ErrTooSlow or ErrReplicas the holder was
// ended. Other errors: ErrName; ErrKind
// of a Semaphore or an RWMutex, whose holders only Client.Steal can end; ErrClosed; a
// ServerError; those of a reason or hash that is none. A Client of a quorum can't: nodes that
// agree on one holder may not agree on the next.
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
	now := c.clock.now()
	l := c.newLine(m.name+"\x00steal"+strconv.FormatUint(c.random(), 36), m.name, o.keys, nil) // no name has a zero byte
	l.apart, l.takes = m.apartness(), o
	l.tenure = c.newTenure(l)
	l.admit(w, now)
	l.step(now)
	return nil
}

// args are what take needs beside the id and the stride.
func (o *order) args(l *line) []string { return []string{l.shard, o.id, o.reason} }

var errMayHaveTaken = errors.New("an earlier try was not answered in time and may have ended the tenure; " +
	"by now the name is free or another holds it")

// notTaken: another holds the name by now, or nobody. It may have been taken in between, by
// a run that was not answered in time.
func (l *line) notTaken(a answer) {
	if t := l.tenure; t.open > 0 || t.late > 0 {
		l.reject(&storeError{l.name, ErrUnreachable, errMayHaveTaken})
		return
	}
	e := &TenureError{Name: l.name}
	if x := l.takes; x != nil { // no other lock is answered so
		e.Tenure = x.tenure
	}
	if a.holder != "" {
		e.Holder = l.c.holder(a.holder, 0, 0)
	}
	l.standsNowhere()
	l.reject(e)
}
