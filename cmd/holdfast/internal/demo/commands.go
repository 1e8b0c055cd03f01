package demo

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/driver"
)

// commands sends single commands to a server. counter may be nil.
type commands struct {
	store   driver.Store
	counter *countingStore
}

func (c commands) eval(ctx context.Context, script *driver.Script, key string, args ...string) ([]string, error) {
	return c.store.Eval(ctx, driver.Call{Script: script, Keys: []string{key}, Args: args})
}

func (c commands) do(ctx context.Context, command, key string, args ...string) ([]string, error) {
	return c.eval(ctx, connect.AnyCommand, key, append([]string{command}, args...)...)
}

func (c commands) integer(ctx context.Context, command, key string, args ...string) (int64, error) {
	reply, err := c.do(ctx, command, key, args...)
	if err != nil {
		return 0, err
	}
	if len(reply) != 1 {
		return 0, fmt.Errorf("%s %s: want one number, got %q", command, key, reply)
	}
	return strconv.ParseInt(reply[0], 10, 64)
}

// countingStore is a Store that counts what goes through it.
type countingStore struct {
	driver.Store
	count   atomic.Int64
	stalled atomic.Bool // nothing arrives
}

func (s *countingStore) reset()      { s.count.Store(0) }
func (s *countingStore) sent() int64 { return s.count.Load() }

func (s *countingStore) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.count.Add(1)
	if s.stalled.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Eval(ctx, call)
}

func (s *countingStore) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	s.count.Add(int64(len(calls)))
	if s.stalled.Load() {
		<-ctx.Done()
		results := make([]driver.Result, len(calls))
		for i := range results {
			results[i].Err = ctx.Err()
		}
		return results
	}
	return s.Store.EvalAll(ctx, calls)
}

func (s *countingStore) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	s.count.Add(int64(len(calls)) + 1)
	return s.Store.EvalWait(ctx, calls, replicas, timeout)
}

func (s *countingStore) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	s.count.Add(1)
	subscription, err := s.Store.Subscribe(ctx, channel, message)
	if err != nil {
		return nil, err
	}
	return countingSubscription{subscription, s}, nil
}

type countingSubscription struct {
	driver.Subscription
	store *countingStore
}

func (s countingSubscription) Ping(ctx context.Context) error {
	s.store.count.Add(1)
	return s.Subscription.Ping(ctx)
}
