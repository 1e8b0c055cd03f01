//go:build unix

package demo

import (
	"context"
	"syscall"
)

// newFrozen starts a buyer that is a process, and is frozen as one.
func newFrozen(ctx context.Context, s *sale) (customer, error) { return startBuyer(ctx, s, 0) }

// freeze stops the process of a buyer, or lets it go on.
func freeze(c customer, stop bool) error {
	p, ok := c.(*buyerProcess)
	switch {
	case !ok:
		stall(c, stop)
		return nil
	case stop:
		return p.cmd.Process.Signal(syscall.SIGSTOP)
	}
	return p.cmd.Process.Signal(syscall.SIGCONT)
}
