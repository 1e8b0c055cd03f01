package holdfast

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// evalMany runs calls that only look, in pipelines of bounded size, a few at a time,
// and returns one Result for each. Each pipeline has so long, whatever the driver does.
// When nothing in one is answered no more are begun: what is left is not answered.
func (c *core) evalMany(ctx context.Context, calls []driver.Call, limit time.Duration) []driver.Result {
	const atOnce = 4
	results := make([]driver.Result, len(calls))
	for i := range results {
		results[i].Err = wire.ErrNoAnswer
	}
	parts := make(chan int) // where each begins
	var silent atomic.Bool
	var working sync.WaitGroup
	for range min(atOnce, (len(calls)+pipeline-1)/pipeline) {
		working.Go(func() {
			for from := range parts {
				if silent.Load() || ctx.Err() != nil {
					continue
				}
				got := c.evalPipeline(ctx, calls[from:min(from+pipeline, len(calls))], limit)
				copy(results[from:], got)
				silent.CompareAndSwap(false, !slices.ContainsFunc(got, answeredAtAll))
			}
		})
	}
	for from := 0; from < len(calls); from += pipeline {
		parts <- from
	}
	close(parts)
	working.Wait()
	return results
}

// answeredAtAll reports whether the server said anything.
func answeredAtAll(r driver.Result) bool {
	_, said := wire.AsServerError(r.Err)
	return r.Err == nil || said
}

// evalPipeline is evalAllWithin a limit.
func (c *core) evalPipeline(callers context.Context, calls []driver.Call, limit time.Duration) []driver.Result {
	ctx, cancel := context.WithTimeout(callers, limit)
	defer cancel()
	return evalAllWithin(ctx, c.ctx, c.store, calls)
}
