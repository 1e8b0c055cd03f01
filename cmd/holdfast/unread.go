package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// untilUnread is ctx until nobody reads w any more: what prints only now and then would
// not find out by printing. A pipe that is closed is an error of a write from then on, and
// does not end the process; see unread.
func untilUnread(ctx context.Context, w io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if file, ok := w.(*os.File); ok {
		go func() {
			for sleep(ctx, 250*time.Millisecond) {
				if hungUp(file) {
					cancel()
				}
			}
		}()
	}
	return ctx, cancel
}

// unread tells the error of a write that nobody will read: the end, and no failure.
func unread(err error) bool { return errors.Is(err, syscall.EPIPE) }
