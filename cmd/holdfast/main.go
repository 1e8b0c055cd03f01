// Command holdfast locks names across machines with Redis or Valkey: it runs a command
// while it holds a lock, shows holders and waiters, and demonstrates what happens without
// a lock.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
