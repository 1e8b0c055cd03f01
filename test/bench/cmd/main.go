// Command cmd runs the benchmarks of package bench; see there.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/holdfast-go/holdfast/test/bench"
)

func main() {
	isChild, err := bench.Child()
	if !isChild {
		err = bench.Main(os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
