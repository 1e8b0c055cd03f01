//go:build race

package ballot

// The race detector makes the search ten times as slow, and has nothing to find in one goroutine.
const raced = true
