package call

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Repeat runs calls in pipelines of bounded size. Until ctx ends, it repeats those that were
// not answered or got a transient error. It returns nil when all are done, or the newest
// permanent error. It returns when ctx ends, even if the driver does not.
func Repeat(ctx context.Context, store driver.Store, calls []driver.Call) error {
	done := make(chan error, 1)
	go func() {
		var refused error // for good
		for wait := 5 * time.Millisecond; ; wait *= 2 {
			var err error
			calls, err = once(ctx, store, calls)
			if err != nil && !wire.Transient(err) {
				refused = err
			}
			if len(calls) == 0 || ctx.Err() != nil {
				done <- cmp.Or(refused, err)
				return
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once runs each call once. It returns those that must run again, and why.
func once(ctx context.Context, store driver.Store, calls []driver.Call) (again []driver.Call, err error) {
	for batch := range slices.Chunk(calls, PerPipeline) {
		if ctx.Err() != nil {
			return append(again, batch...), ctx.Err()
		}
		for i, r := range store.EvalAll(ctx, batch) {
			switch {
			case r.Err != nil:
				if !wire.Transient(r.Err) {
					err = r.Err
					continue // it would be refused again
				}
				err = cmp.Or(err, r.Err)
				if only, ok := keyOnly(batch[i]); ok && split(r.Err) {
					batch[i] = only
				}
			case len(r.Reply) == 0 || r.Reply[0] != "again":
				continue
			}
			again = append(again, batch[i])
		}
	}
	return again, err
}
