//go:build !unix

package main

import "context"

func newSleeper(ctx context.Context, s *sale, number int) (sleeper, error) {
	return newStalledBuyer(ctx, s, number)
}
