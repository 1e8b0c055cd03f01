package demo

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/driver"
)

// commands sends single commands to a server, up to the first error.
type commands struct {
	store driver.Store
	err   error
}

func (c *commands) eval(ctx context.Context, script *driver.Script, key string, args ...string) string {
	if c.err != nil {
		return ""
	}
	reply, err := c.store.Eval(ctx, driver.Call{Script: script, Keys: []string{key}, Args: args})
	if c.err = err; len(reply) == 1 {
		return reply[0]
	}
	return ""
}

func (c *commands) do(ctx context.Context, command, key string, args ...string) string {
	return c.eval(ctx, connect.AnyCommand, key, append([]string{command}, args...)...)
}

func (c *commands) integer(ctx context.Context, command, key string, args ...string) int {
	return c.number(c.do(ctx, command, key, args...))
}

func (c *commands) number(reply string) (n int) {
	if c.err == nil {
		n, c.err = strconv.Atoi(reply)
	}
	return n
}

// pollUntil repeats a command until the reply is want.
func (c *commands) pollUntil(ctx context.Context, want, command, key string, args ...string) {
	for c.do(ctx, command, key, args...) != want && c.err == nil {
		c.err = pause(ctx, pollInterval)
	}
}

// counter is a Store that counts what goes through it.
type counter struct {
	driver.Store
	sent    atomic.Int64
	stalled atomic.Bool // nothing arrives
}

func (c *counter) count(ctx context.Context, n int) {
	c.sent.Add(int64(n))
	if c.stalled.Load() {
		<-ctx.Done()
	}
}

func (c *counter) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	c.count(ctx, 1)
	return c.Store.Eval(ctx, call)
}

func (c *counter) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	c.count(ctx, len(calls))
	return c.Store.EvalAll(ctx, calls)
}

func (c *counter) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	c.sent.Add(1)
	return c.Store.Subscribe(ctx, channel, message)
}
