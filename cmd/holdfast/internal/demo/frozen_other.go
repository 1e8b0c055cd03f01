//go:build !unix

package demo

import "context"

func newSleeper(ctx context.Context, s *sale, number int) (sleeper, error) {
	return newStalledBuyer(ctx, s, number)
}
