package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// UntilSignal returns a context that ends at ctrl-C or TERM.
func UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// UntilUnread returns a context that ends at ctrl-C or TERM, or when w has no reader any more:
// a command that prints rarely would not notice. From then on, a write to a closed pipe is an
// error and does not end the process.
func UntilUnread(ctx context.Context, w io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := UntilSignal(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if file, ok := w.(*os.File); ok {
		go func() {
			for Sleep(ctx, 250*time.Millisecond) {
				if hungUp(file) {
					cancel()
				}
			}
		}()
	}
	return ctx, cancel
}

// Unread reports whether a write failed because there is no reader. That is no failure.
func Unread(err error) bool { return errors.Is(err, syscall.EPIPE) }

// Sleep reports whether d passed before ctx ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
