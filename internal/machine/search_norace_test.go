//go:build !race

package machine

const raced = false
