//go:build !race

package sim_test

const (
	someSeeds = 400
	covers    = true
)
