package holdfast

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// noticeDrop ends a Client that the program drops. In a bubble it can't: nothing outside may
// touch the channels of one.
func (c *Client) noticeDrop() {
	if !clock.InBubble() {
		runtime.AddCleanup(c, dropped, c.core)
	}
}

// dropped runs when a Client was garbage-collected.
func dropped(c *core) {
	if !c.isClosed() {
		c.options.Logger.Warn("holdfast: a Client was dropped without Close; closing it now", slog.String("owner", c.options.Owner))
		go c.close() // nobody is left to return its error to; it logs
	}
}

// Close ends the Client. Leases end with cause [Closed] and are released, and waiting
// calls return [ErrClosed]. Close blocks for at most about two seconds for the cleanup
// in Redis. It then waits for at most one second until OnEvent has all events. The
// store stays open.
//
// Close returns [ErrUnknown] if Redis did not confirm the cleanup in time. The
// remaining keys expire after their TTL. A second Close waits for the first and returns
// the same error.
//
// Later calls return ErrClosed and do not contact Redis. A call that has begun before
// returns the answer of Redis. If Redis did not answer, it returns ErrClosed, although
// Redis may have executed it. Methods of a [Lease] return an error that matches both
// [ErrLost] and ErrClosed. [Client.LocalState] still works.
//
// If a program exits without Close, its names stay held until their TTL ends. Its
// places in queues stay too. They do not delay other waiters after the connection of
// the program is closed.
func (c *Client) Close() error { return c.close() }

// isClosed reports whether Close was called.
func (c *core) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// wasClosed is ErrClosed after Close was called.
func (c *core) wasClosed() error {
	if c.isClosed() {
		return ErrClosed
	}
	return nil
}

// openKeys are the keys of a name that the Client is asked about: of one that is closed no
// more. A call that has begun gets its answer.
func (c *core) openKeys(name string) (*keyspace.Keys, error) {
	if c.isClosed() {
		return nil, ErrClosed
	}
	return keysOf(c.options.Prefix, name)
}

func (c *core) close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.closeDone
		return c.closeErr
	}
	c.closed, c.closeDone = true, make(chan struct{})
	err := c.shutDown()
	if err != nil {
		c.closeErr = wire.Failure("close", ErrUnknown, err)
	}
	close(c.closeDone) // before OnEvent is waited for, which may call Close
	c.awaitEvents()
	if err != nil {
		c.options.Logger.Warn("holdfast: closed without an answer from the store; names that this client may still hold stay locked until their ttl ends", slog.Any("error", err))
	}
	return c.closeErr
}

// shutDown is called with the mutex held, and releases it.
func (c *core) shutDown() error {
	c.dropDelayed() // or it would be sent after its cleanup
	calls, repeats := c.process.shutDown(c.clock.Now())
	c.unlock()

	ctx, cancel := context.WithTimeout(c.ctx, min(max(c.options.TTL, 500*time.Millisecond), 2*time.Second))
	defer cancel()
	away := c.details.Remove(ctx)
	err := c.runCleanups(ctx, calls)
	if later := c.runCleanups(ctx, c.awaitInflight(ctx)); err == nil {
		err = later
	}
	if err == nil {
		err = ctx.Err() // something was still on its way
	}
	c.repeatCancels(ctx, repeats)
	<-away
	c.cancel()
	return err
}

// repeatCancels sends once more what was answered before, in a quarter of a second. It is owed to
// nobody: whether it was done does not matter.
func (c *core) repeatCancels(ctx context.Context, repeats []cleanupCall) {
	if len(repeats) > 0 {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		defer cancel()
		_ = c.runCleanups(ctx, repeats)
	}
}

// awaitEvents waits until OnEvent has all events, so that a program that writes them
// down is complete when Close returns. A second at most: it is the user's code.
func (c *core) awaitEvents() {
	if c.eventsDone == nil {
		return
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-c.eventsDone:
	case <-t.C:
	}
}

// runCleanups makes the calls; see runQuorumCleanups for a quorum.
func (c *core) runCleanups(ctx context.Context, cleanups []cleanupCall) error {
	if c.nodes != nil {
		return c.runQuorumCleanups(ctx, cleanups)
	}
	calls := make([]driver.Call, len(cleanups))
	for i := range cleanups {
		calls[i] = cleanups[i].call
	}
	return call.Repeat(ctx, c.store, calls)
}

// awaitInflight waits until the requests under way have come back, or ctx ends, and
// returns the cleanups for those that may have run after their cleanup.
func (c *core) awaitInflight(ctx context.Context) []cleanupCall {
	for began := c.clock.Now(); ; {
		c.mu.Lock()
		busy, late := c.inflight, c.lateCleanups
		if c.quorum != nil {
			busy = c.quorum.awaited(c.clock.Now().Sub(began))
		}
		c.mu.Unlock()
		if busy == 0 || ctx.Err() != nil {
			return late
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// runQuorumCleanups makes what Close has to do on each node, side by side. It returns when a
// majority has and the others had their time for it, or ctx ends: what stays behind on
// a minority would keep the name from a quorum that lacks another node, for a ttl.
func (c *core) runQuorumCleanups(ctx context.Context, cleanups []cleanupCall) error {
	type outcome struct {
		node *server
		err  error
	}
	done := make(chan outcome, len(c.nodes))
	for _, n := range c.nodes {
		var calls []driver.Call
		for _, one := range cleanups {
			if one.node == n.node {
				calls = append(calls, one.call)
			}
		}
		go func() { done <- outcome{n, call.Repeat(ctx, n.store, calls)} }()
	}
	open := map[*server]bool{}
	for _, n := range c.nodes {
		open[n] = true
	}
	good := 0
	var err error
	var over <-chan time.Time
	for len(open) > 0 {
		select {
		case o := <-done:
			delete(open, o.node)
			if o.err == nil {
				good++
			} else {
				err = o.err
			}
		case <-over:
			return nil
		}
		if good >= c.quorum.need && over == nil {
			over = time.After(c.closeGrace(open))
		}
	}
	if good >= c.quorum.need {
		return nil
	}
	return err
}

// closeGrace is how long Close waits for these nodes when a majority has confirmed: as
// long as a ballot would. For a node that is silent it has 20 ms: enough to send what that
// node is owed, because what is not sent when Close returns is never sent.
func (c *core) closeGrace(nodes map[*server]bool) (longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range nodes {
		patience := longestRemoval
		if !n.node.silent.Load() {
			patience = n.node.patience(&c.settings)
		}
		longest = max(longest, patience)
	}
	return longest
}
