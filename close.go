package holdfast

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/driver"
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
	return c.process.Closed
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
	if c.process.Closed {
		c.mu.Unlock()
		<-c.closeDone
		return c.closeErr
	}
	c.process.Closed, c.closeDone = true, make(chan struct{})
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
	now := c.clock.Now()
	calls, repeats := c.process.ShutDown(now)
	c.servers.close(now)
	c.unlock()

	ctx, cancel := context.WithTimeout(c.ctx, min(max(c.options.TTL, 500*time.Millisecond), 2*time.Second))
	defer cancel()
	away := c.details.Remove(ctx)
	err := c.servers.runCleanups(ctx, calls)
	if later := c.servers.runCleanups(ctx, c.awaitInflight(ctx)); err == nil {
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
func (c *core) repeatCancels(ctx context.Context, repeats []driver.Call) {
	if len(repeats) > 0 {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		defer cancel()
		_ = c.servers.runCleanups(ctx, repeats)
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

// awaitInflight waits until the requests under way have come back, or ctx ends, and
// returns the cleanups for those that may have run after their cleanup.
func (c *core) awaitInflight(ctx context.Context) []driver.Call {
	for began := c.clock.Now(); ; {
		c.mu.Lock()
		busy, late := c.servers.awaited(c.clock.Now().Sub(began)), c.process.LateCleanups
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
