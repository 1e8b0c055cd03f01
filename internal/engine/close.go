package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Close ends the engine: all turns, and all calls that wait. It returns wire.ErrUnknown if Redis did not
// confirm the clean-up in about two seconds. A second Close waits for the first and returns the same.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.process.Closed {
		e.mu.Unlock()
		<-e.closeDone
		return e.closeErr
	}
	e.process.Closed, e.closeDone = true, make(chan struct{})
	err := e.shutDown()
	if err != nil {
		e.closeErr = wire.Failure("close", wire.ErrUnknown, err)
	}
	close(e.closeDone)
	if err != nil { // the handler is the user's code, which may call Close
		e.Logger.Warn("holdfast: closed without an answer from the store; names that this client may still hold stay locked until their ttl ends", slog.Any("error", err))
	}
	return e.closeErr
}

// shutDown is called with the mutex held, and releases it.
func (e *Engine) shutDown() error {
	e.dropDelayed() // or it would be sent after its cleanup
	now := e.clock.Now()
	calls, repeats := e.process.ShutDown(now)
	e.servers.close(now)
	e.unlock()

	ctx, cancel := context.WithTimeout(e.ctx, min(max(e.TTL, 500*time.Millisecond), 2*time.Second))
	defer cancel()
	away := e.details.Remove(ctx)
	err := e.servers.runCleanups(ctx, calls)
	if later := e.servers.runCleanups(ctx, e.awaitInflight(ctx)); err == nil {
		err = later
	}
	if err == nil {
		err = ctx.Err() // something was still on its way
	}
	e.repeatCancels(ctx, repeats)
	<-away
	e.cancel()
	return err
}

// repeatCancels sends once more what was answered before, in a quarter of a second. It is owed to
// nobody: whether it was done does not matter.
func (e *Engine) repeatCancels(ctx context.Context, repeats []driver.Call) {
	if len(repeats) > 0 {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		defer cancel()
		_ = e.servers.runCleanups(ctx, repeats)
	}
}

// awaitInflight waits until the requests under way have come back, or ctx ends, and
// returns the cleanups for those that may have run after their cleanup.
func (e *Engine) awaitInflight(ctx context.Context) []driver.Call {
	for began := e.clock.Now(); ; {
		e.mu.Lock()
		busy, late := e.servers.awaited(e.clock.Now().Sub(began)), e.process.LateCleanups
		e.mu.Unlock()
		if busy == 0 || ctx.Err() != nil {
			return late
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
}
