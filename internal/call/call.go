// Package call runs scripts through a driver within bounds: one attempt ([Caller.Run]), the
// same script until Redis has answered ([Caller.Until]), and many in pipelines ([Caller.Many]).
// These return when the context of the call ends, even if the driver needs longer. The package
// decides nothing about a lock.
package call

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// minForDriver is the least time that a driver gets for a call, even if the caller leaves
// sooner. When the time of a call ends, rueidis closes the connection if no other call is on
// it. All leases of this process are renewed on that connection. If the server takes no new
// one, an inspection with a short deadline would cost leases.
const minForDriver = 2 * time.Second

// Caller runs scripts on one store. Its fields do not change.
type Caller struct {
	Store driver.Store
	Life  context.Context // ends calls that their callers have left

	// For Until.
	Clock   *clock.Clock
	Attempt time.Duration // bounds one attempt
	Closed  func() error  // an error ends the attempts; nil: the end of Life does not matter
}

// Run runs a script once, within limit. If the limit ends first, it returns
// [wire.ErrNoAnswer], and the script may run nevertheless; if ctx ends first, the error of ctx.
func (c *Caller) Run(ctx context.Context, limit time.Duration, call driver.Call) ([]string, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := within(bounded, c.Life, func(ctx context.Context) (r driver.Result) {
		r.Reply, r.Err = c.Store.Eval(ctx, call)
		return r
	})
	if err == nil {
		err = r.Err
	}
	if ctx.Err() == nil {
		err = wire.WithoutContext(err)
	}
	return r.Reply, err
}

// Until runs a script that stays right when it runs twice. While Redis does not answer, or
// returns a transient error, it runs the script again, until the time end. sent is when the
// request was sent that Redis answered.
//
// A permanent error ends the attempts. If they end without an answer, the error is
// [wire.ErrUnreachable]. Both errors contain the name. If ctx ends, Until returns its error.
func (c *Caller) Until(ctx context.Context, end clock.Instant, name string, call driver.Call) (reply []string, sent clock.Instant, err error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		sent = c.Clock.Exact()
		reply, err = c.Run(ctx, max(min(end.Sub(sent), c.Attempt), time.Millisecond), call)
		switch {
		case err == nil:
			return reply, sent, nil
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		}
		if said, ok := wire.AsServerError(err); ok {
			err = wire.Explain(said, call.Keys[0])
		}
		if !wire.Transient(err) {
			return nil, 0, wire.Failure(name, nil, err)
		}
		if c.Clock.Now().Add(wait) >= end {
			return nil, 0, wire.Failure(name, wire.ErrUnreachable, err)
		}
		if err := c.pause(ctx, wait); err != nil {
			return nil, 0, err
		}
	}
}

// pause waits between two attempts. An error means that there is no next one.
func (c *Caller) pause(ctx context.Context, wait time.Duration) error {
	var closing <-chan struct{}
	if c.Closed != nil {
		closing = c.Life.Done()
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	case <-closing:
	}
	if c.Closed != nil {
		return c.Closed()
	}
	return nil
}

// within runs a call of a driver, and returns when ctx ends, even if the driver does not.
// A context that has ended begins nothing. A call that goes on without its caller ends with
// life.
func within[T any](ctx, life context.Context, call func(context.Context) T) (result T, err error) {
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	done := make(chan T, 1)
	go func() {
		ctx, cancel := ForDriver(ctx, life)
		defer cancel()
		done <- call(ctx)
	}()
	select {
	case result = <-done:
		return result, nil
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// ForDriver returns ctx, or a context that ends later if ctx leaves a driver less than 2 s.
// When ctx has ended, that context ends with life at the latest.
func ForDriver(ctx, life context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) >= minForDriver {
		return ctx, func() {}
	}
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), minForDriver)
	stay := context.AfterFunc(ctx, func() {
		stop := context.AfterFunc(life, cancel)
		context.AfterFunc(longer, func() { stop() })
	})
	return longer, func() { stay(); cancel() }
}
