package browser_test

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/driver"
)

// hangingStore is a server that a process can't reach any more, while it hangs.
type hangingStore struct {
	driver.Store
	hangs atomic.Bool
}

func (s *hangingStore) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Eval(ctx, call)
}

func (s *hangingStore) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}
