package holdfast

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// leastForDriver is what a driver is given for a call, however soon its caller leaves.
// At the end of a call's time rueidis closes the connection if nothing else is on it at
// that moment, and all that this process holds is renewed on that connection: where the
// server takes no new one, a look with a short deadline would cost leases.
const leastForDriver = 2 * time.Second

// within runs a call of a driver, and returns when ctx ends, whatever the driver does.
// One that has ended begins nothing. A call that goes on without its caller ends with life,
// which is a Client's.
func within[T any](ctx, life context.Context, call func(context.Context) T) (result T, err error) {
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	done := make(chan T, 1)
	go func() {
		ctx, cancel := ample(ctx, life)
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

// ample returns ctx, or one that ends later where ctx leaves a driver too little time: but
// behind its caller no later than life.
func ample(ctx, life context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) >= leastForDriver {
		return ctx, func() {}
	}
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), leastForDriver)
	stay := context.AfterFunc(ctx, func() {
		stop := context.AfterFunc(life, cancel)
		context.AfterFunc(longer, func() { stop() })
	})
	return longer, func() { stay(); cancel() }
}

// evalWithin runs a script within ctx.
func evalWithin(ctx, life context.Context, store driver.Store, call driver.Call) ([]string, error) {
	r, err := within(ctx, life, func(ctx context.Context) (r driver.Result) {
		r.Reply, r.Err = store.Eval(ctx, call)
		return r
	})
	return r.Reply, or(err, r.Err)
}

// evalAllWithin runs scripts within ctx: nothing, if the driver does not return in time.
func evalAllWithin(ctx, life context.Context, store driver.Store, calls []driver.Call) []driver.Result {
	results, _ := within(ctx, life, func(ctx context.Context) []driver.Result { return store.EvalAll(ctx, calls) })
	return results
}
