package holdfast

import (
	"cmp"
	"context"
	"errors"

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
	e := l.client.engine
	value = cmp.Or(value, e.Owner)
	lacks := l.client.lacks(l.Name(), "Proclaim")
	switch {
	case lacks != nil:
		return lacks
	case l.turn.Local.Kind.Term == nil:
		return wire.Failure(l.Name(), nil, errors.New("Proclaim is for the lease of an Election"))
	}
	if err := cmp.Or(checkValue(value), ctx.Err()); err != nil {
		return err
	}
	return publicError(e.Proclaim(ctx, l.turn, value))
}
