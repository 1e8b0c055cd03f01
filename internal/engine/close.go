package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Close ends all turns and all waiting calls, and cleans up in Redis. It returns wire.ErrUnknown
// if Redis did not answer the cleanup in about 2 s. A second Close waits for the first and
// returns the same error.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.client.Closed {
		e.mu.Unlock()
		<-e.closeDone
		return e.closeErr
	}
	e.client.Closed, e.closeDone = true, make(chan struct{})
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

// shutDown cleans up for Close. It is called with the mutex held, and releases it.
func (e *Engine) shutDown() error {
	e.dropDelayed() // else they would be sent after their cleanup
	now := e.clock.Now()
	calls, repeats := e.client.Close(now)
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
		err = ctx.Err() // some requests are not answered yet
	}
	e.repeatCancels(ctx, repeats)
	<-away
	e.cancel()
	return err
}

// repeatCancels sends the answered cancels once more, for at most 250 ms. Close does not depend
// on their result.
func (e *Engine) repeatCancels(ctx context.Context, repeats []driver.Call) {
	if len(repeats) > 0 {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		defer cancel()
		_ = e.servers.runCleanups(ctx, repeats)
	}
}

// awaitInflight waits until all requests under way are answered, or ctx ends. It returns the
// cleanups for requests that may have run after their first cleanup.
func (e *Engine) awaitInflight(ctx context.Context) []driver.Call {
	for began := e.clock.Now(); ; {
		e.mu.Lock()
		busy, late := e.servers.awaited(e.clock.Now().Sub(began)), e.client.LateCleanups
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
