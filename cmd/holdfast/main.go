// Command holdfast locks names across machines with Redis or Valkey: it runs a command
// while it holds a lock, shows holders and waiters, and demonstrates what happens without
// a lock.
package main

import (
	"context"
	"os"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// version is that of a release, which its build sets: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	cli.Release = version
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
