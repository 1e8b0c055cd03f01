//go:build !unix

package demo

import "context"

func newFrozen(ctx context.Context, s *sale) (customer, error) { return newBuyer(ctx, s, 0) }

func freeze(c customer, stop bool) error {
	stall(c, stop)
	return nil
}
