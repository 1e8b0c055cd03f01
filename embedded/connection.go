package embedded

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// Connection is one client's connection to a [Store], for tests. Make it with
// [Store.Connect] and give it to holdfast.New. After [Connection.Disconnect],
// its client gets no answer. For other clients this looks like a process that died.
type Connection struct {
	store *Store

	mu   sync.Mutex
	up   chan struct{} // closed while it is connected
	subs []driver.Subscription
}

var _ driver.Store = (*Connection)(nil)

// Disconnect cuts the connection until [Connection.Reconnect]. Later calls
// do not reach the Store and wait until their ctx ends. Subscriptions end, and no
// other client is notified. Names that the client holds stay held until their TTL
// ends. A second Disconnect changes nothing.
func (c *Connection) Disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.up:
	default:
		return
	}
	c.up = make(chan struct{})
	for _, sub := range c.subs {
		sub.Close()
	}
	c.subs = nil
}

// Reconnect undoes [Connection.Disconnect]: calls that still wait now run.
func (c *Connection) Reconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.up:
	default:
		close(c.up)
	}
}

// connected waits until the connection is there.
func (c *Connection) connected(ctx context.Context) error {
	c.mu.Lock()
	up := c.up
	c.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Eval runs one script. See [driver.Store].
func (c *Connection) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if err := c.connected(ctx); err != nil {
		return nil, err
	}
	return c.store.Eval(ctx, call)
}

// EvalAll runs the scripts one after the other. See [driver.Store].
func (c *Connection) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	if err := c.connected(ctx); err != nil {
		results := make([]driver.Result, len(calls))
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	return c.store.EvalAll(ctx, calls)
}

// EvalWait runs the scripts one after the other. It does not wait and reports 0
// replicas. See [driver.Store].
func (c *Connection) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return c.EvalAll(ctx, calls), 0, nil
}

// Subscribe subscribes to one channel. See [driver.Store].
func (c *Connection) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	if err := c.connected(ctx); err != nil {
		return nil, err
	}
	sub, err := c.store.Subscribe(ctx, channel, message)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.up:
		c.subs = append(c.subs, sub)
	default: // it was cut meanwhile
		sub.Close()
	}
	return sub, nil
}

// Scan yields the keys that match. See [driver.Store].
func (c *Connection) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	if err := c.connected(ctx); err != nil {
		return func(yield func(string, error) bool) { yield("", err) }
	}
	return c.store.Scan(ctx, match)
}

// Sharded reports false: this is one server. See [driver.Store].
func (c *Connection) Sharded() bool { return false }
