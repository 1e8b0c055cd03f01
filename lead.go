package holdfast

import (
	"context"
	"errors"
	"time"
)

// Lead campaigns with value and runs f while this candidate leads. It campaigns again
// after each loss. It returns when f returns during its term, when ctx ends, or after
// an error that no retry can solve.
//
// The context of f ends when the term is lost or ctx ends. f should return then: Lead
// waits for it. For periodic work, let f loop until its context ends. If one step
// fails, log the error and continue, or return it to resign.
//
// If f returns during its term, Lead resigns and does not campaign again. It returns
// the error of f, joined with [ErrUnknown] if Redis did not confirm the release. Lead
// does the same if ctx ends while f runs: it waits for f, resigns, and returns the error
// of f, which may be nil. If ctx ends while Lead waits, it returns the error of ctx. If
// f panics, Lead resigns, and the panic continues.
//
// To shut down, cancel ctx, wait until Lead has returned, and then call [Client.Close].
// If you call Close first, the term is lost, and Lead returns [ErrClosed].
//
// If the term was lost, Lead ignores the result of f and does not log it. It releases
// the name if a revocation or MaxHold ended the term. Then it campaigns again, at the
// end of the queue.
//
// If Redis is unreachable or too slow, or has too few replicas, Lead logs this and
// tries again. The pause between two tries grows from 100 ms to 5 s, and each try can
// take one TTL. After other errors of [Election.Campaign], Lead returns the error.
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
		case ctx.Err() != nil || !worthRetry(err):
			return err
		default:
			election.client.engine.Logger.Warn("holdfast: cannot campaign; trying again", "name", election.name, "error", err)
			if !election.client.nap(ctx, backoff) {
				return ctx.Err()
			}
			backoff = min(2*backoff, 5*time.Second)
		}
	}
}

const leadBackoff = 100 * time.Millisecond

// worthRetry tells an error of Campaign that may be gone at the next try.
func worthRetry(err error) bool {
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
func (c *Client) nap(ctx context.Context, d time.Duration) bool {
	d = d/2 + time.Duration(c.engine.Random()%uint64(d))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
