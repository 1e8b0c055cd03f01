package holdfast

import (
	"context"
	"errors"
	"time"
)

// Lead campaigns, and runs f while this candidate leads. f gets a context that
// ends when the term is lost or ctx ends; it should return then, since nothing
// else happens here before it does.
//
// When f returns while it leads, the term is over: Lead resigns and returns what
// f did, joined with ErrUnknown where the release was not answered. When the term
// was lost, what f returned does not count, and Lead campaigns again, at the end
// of the line. So Lead returns when f is done with leading; when ctx ends; or when
// campaigning can't succeed (ErrName, ErrValue, ErrKind, ErrDeadlock, ErrClosed,
// ErrQuorum, a ServerError). While Redis does not answer, is too slow or has too few replicas
// it logs that and tries again, after 100 ms and then up to 5 s.
func Lead(ctx context.Context, election *Election, value string, f func(ctx context.Context, lease *Lease) error) error {
	backoff := leadBackoff
	for {
		lease, err := election.Campaign(ctx, value)
		switch {
		case err == nil:
			backoff = leadBackoff
			if lost, err := term(ctx, lease, f); !lost {
				return err
			}
		case ctx.Err() != nil || !worthAnother(err):
			return err
		default:
			election.client.options.Logger.Warn("holdfast: can not campaign; trying again", "name", election.name, "error", err)
			if !election.client.nap(ctx, backoff) {
				return ctx.Err()
			}
			backoff = min(2*backoff, 5*time.Second)
		}
	}
}

const leadBackoff = 100 * time.Millisecond

// worthAnother tells an error of Campaign that may be gone at the next try.
func worthAnother(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTooSlow) || errors.Is(err, ErrReplicas)
}

// term runs f and resigns, also when f panics.
func term(ctx context.Context, lease *Lease, f func(context.Context, *Lease) error) (lost bool, err error) {
	defer func() {
		switch released := lease.Release(); {
		case errors.Is(released, ErrLost):
			lost = true
		case released != nil:
			err = errors.Join(err, released)
		}
	}()
	return false, f(lease.Context(ctx), lease)
}

// nap waits about as long as that; false: ctx has ended.
func (c *core) nap(ctx context.Context, d time.Duration) bool {
	c.mu.Lock()
	d = d/2 + c.jitter(d)
	c.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
