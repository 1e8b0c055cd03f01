//go:build !race

package ballot

const raced = false
