// Package signals catches the signals that end a wait or are passed on to a command.
package signals

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// interrupted is why a wait ended that a signal ended.
type interrupted struct{ sig syscall.Signal }

func (i interrupted) Error() string { return i.sig.String() }

// Until gives a context that ends with the first signal that ends a wait.
// stop ends that: what comes later is for the command. It returns the exit code
// for the signal that came, as an error, or nil.
func Until(ctx context.Context, signals <-chan os.Signal) (_ context.Context, stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case sig := <-signals:
				if s, ok := sig.(syscall.Signal); ok && Ends(s) {
					cancel(interrupted{s})
					return
				}
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() error {
		close(quit)
		<-done
		defer cancel(nil)
		if by, ok := errors.AsType[interrupted](context.Cause(ctx)); ok {
			return cli.Exit(128+int(by.sig), nil)
		}
		return nil
	}
}
