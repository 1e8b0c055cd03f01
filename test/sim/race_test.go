//go:build race

package sim_test

// The race detector shuffles goroutines, so that a seed does not repeat its
// run; and it is slow.
const (
	someSeeds = 100
	covers    = false // so few don't reach all
)
