package call

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	// PerPipeline is the most calls in one pipeline: a driver takes no more.
	PerPipeline = 128
	atOnce      = 4 // pipelines
)

// Many runs calls that only read, in a few pipelines at a time, and returns one Result for
// each. Each pipeline has the time limit. If Redis answers nothing in one, Many begins no other:
// the remaining calls get [wire.ErrNoAnswer].
func (c *Caller) Many(ctx context.Context, limit time.Duration, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i := range results {
		results[i].Err = wire.ErrNoAnswer
	}
	parts := make(chan int) // where each begins
	var silent atomic.Bool
	var working sync.WaitGroup
	for range min(atOnce, (len(calls)+PerPipeline-1)/PerPipeline) {
		working.Go(func() {
			for from := range parts {
				if silent.Load() || ctx.Err() != nil {
					continue
				}
				got := c.pipeline(ctx, limit, calls[from:min(from+PerPipeline, len(calls))])
				copy(results[from:], got)
				silent.CompareAndSwap(false, !slices.ContainsFunc(got, answered))
			}
		})
	}
	for from := 0; from < len(calls); from += PerPipeline {
		parts <- from
	}
	close(parts)
	working.Wait()
	return results
}

// answered reports whether the server said anything.
func answered(r driver.Result) bool {
	_, said := wire.AsServerError(r.Err)
	return r.Err == nil || said
}

// pipeline returns nothing if the driver does not return in time.
func (c *Caller) pipeline(ctx context.Context, limit time.Duration, calls []driver.Call) []driver.Result {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results, _ := within(bounded, c.Life, func(ctx context.Context) []driver.Result { return c.Store.EvalAll(ctx, calls) })
	for i := range results {
		if ctx.Err() == nil {
			results[i].Err = wire.WithoutContext(results[i].Err)
		}
	}
	return results
}
