//go:build !linux

// Soak needs Linux: it freezes processes and reads /proc.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "soak: it needs Linux")
	os.Exit(1)
}
