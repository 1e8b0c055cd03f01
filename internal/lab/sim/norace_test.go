//go:build !race

package sim_test

const (
	someSeeds = 2000
	covers    = true
)
