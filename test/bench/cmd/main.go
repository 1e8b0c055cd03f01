// Command cmd runs the benchmarks of package bench; see there.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/holdfast-go/holdfast/test/bench"
	"github.com/holdfast-go/holdfast/test/bench/bulk"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
)

func main() {
	var err error
	switch {
	case scenario.IsChild():
		err = scenario.Child(os.Stdin, os.Stdout)
	case bulk.IsChild():
		err = bulk.Child(os.Stdin, os.Stdout)
	default:
		err = bench.Main(os.Args[1:], os.Stdout, os.Stderr)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
