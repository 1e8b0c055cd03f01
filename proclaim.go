package holdfast

import (
	"cmp"
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Proclaim changes the value of the leader whose term this lease is. Leader, Observe
// and Inspect show it. The value has the limits of [Election.Campaign]; an empty value
// is [Options.Owner]. Values take effect in the order of the calls, also if one arrives
// late or twice.
//
// Proclaim blocks until Redis answers or ctx ends. A nil error means that Redis has
// stored this value, or a later one of this lease, during the term. After
// [ErrUnreachable] or the error of ctx, the client retries in the background for one
// ttl and with each later announcement, every 5 min.
//
// Errors: [ErrLost] and [ErrReleased], if the term is over; [ErrValue]; a
// [driver.ServerError]. A lease that is not of an [Election], or is of a quorum, returns an
// error. A failover can lose the newest value until the next announcement.
func (l *Lease) Proclaim(ctx context.Context, value string) error {
	u := l.turn
	c := l.client.core
	value = cmp.Or(value, c.options.Owner)
	lacks := c.servers.lacks(l.Name(), "Proclaim")
	switch {
	case lacks != nil:
		return lacks
	case u.Local.Kind.Term == nil:
		return wire.Failure(l.Name(), nil, errors.New("Proclaim is for the lease of an Election"))
	}
	if err := cmp.Or(checkValue(value), ctx.Err()); err != nil {
		return err
	}
	c.mu.Lock()
	call, e := c.process.Proclaim(u, value)
	c.mu.Unlock()
	if e != nil {
		return endError(e)
	}
	err := c.proclaim(ctx, u, call)
	if err != nil {
		c.mu.Lock()
		defer c.unlock()
		c.process.AnnounceAgain(u, c.clock.Now())
	}
	return err
}

// proclaim asks until Redis says that the term is over, or that it was noted.
func (c *core) proclaim(ctx context.Context, u *machine.Turn, call driver.Call) error {
	until := c.clock.Now().Add(c.process.Patience())
	for {
		reply, _, err := c.calls.Until(ctx, until, u.Local.Name, call)
		if err != nil {
			return err
		}
		a, err := wire.DecodeAnswer(reply)
		switch {
		case err != nil:
			return wire.Failure(u.Local.Name, nil, err)
		case a.Holder == u.Tenure.ID:
			return nil
		}
		if err := c.ensure(ctx, u, 0); err != nil { // ends the lease with the cause
			return err
		}
	}
}
