package holdfast

import (
	"cmp"
	"context"
	"errors"
)

// Proclaim changes the value of the leader whose term this lease is: what Leader, Observe and
// Inspect give from now on in place of the value it campaigned with. The same values are allowed
// as there; empty stands for Options.Owner. nil: Redis has noted it, or a later one of this
// lease, while this leader led. The values of a term are in the order of these calls: one
// that reaches Redis late, or twice, does not take the place of a later one.
//
// ErrLost and ErrReleased: the term is over, and nothing was noted. ErrValue. After
// ErrUnreachable, or the end of ctx, it is noted in the background, for a ttl and again with the
// announcement of each five minutes, unless the term is over by then. Other errors: a ServerError; a
// lease that is not of an Election, or of a quorum, where a value can't be changed. It costs one round trip, and one of
// each observer; ctx bounds the wait.
//
// A failover may lose the newest value, as it may lose a lock: then the one before is seen until the
// next announcement, but not by an Observe that has yielded the newer.
func (l *Lease) Proclaim(ctx context.Context, value string) error {
	u := l.turn
	c, who := u.line.c, u.line.candidate
	value = cmp.Or(value, c.options.Owner)
	switch {
	case c.quorum != nil:
		return notOnQuorum(l.Name(), "Proclaim")
	case who == nil:
		return &storeError{l.Name(), nil, errors.New("Proclaim is for the lease of an Election")}
	}
	if err := cmp.Or(checkValue(value), ctx.Err()); err != nil {
		return err
	}
	c.mu.Lock()
	if e := u.ended.Load(); e != nil {
		c.mu.Unlock()
		return e.err
	}
	who.proclaims++
	who.proclaimed = value
	call := u.line.announcement(u)
	c.mu.Unlock()
	err := c.proclaim(ctx, u, call)
	if err != nil {
		c.mu.Lock()
		defer c.unlock()
		if !c.closed && u.ended.Load() == nil {
			u.line.announce(u, c.clock.now())
		}
	}
	return err
}

// proclaim asks until Redis says that the term is over, or that it was noted.
func (c *core) proclaim(ctx context.Context, u *turn, call Call) error {
	until := c.clock.now().add(c.options.patience())
	for {
		reply, err := c.evalUntil(ctx, until, u.line.name, call)
		if err != nil {
			return err
		}
		a, err := decodeAnswer(reply)
		switch {
		case err != nil:
			return &storeError{u.line.name, nil, err}
		case a.holder == u.tenure.id:
			return nil
		}
		if err := u.ensure(ctx, 0); err != nil { // ends the lease with the cause
			return err
		}
	}
}
