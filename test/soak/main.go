//go:build linux

// Soak lets many clients lock many names for hours, while the network, the server
// and the clients themselves fail at random, and sees whether anything grows:
// memory, goroutines, descriptors, connections, keys.
//
//	go run ./test/soak -for 2h -json FILE
//
// It ends with 1 where something grew, where two held a mutex at once, or where
// anything was left when all were done.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if text := os.Getenv(settingVariable); text != "" {
		exit(runChild(text))
	}
	plan := plan{}
	flag.DurationVar(&plan.For, "for", 2*time.Hour, "how long")
	flag.IntVar(&plan.Processes, "processes", 8, "how many client processes")
	flag.IntVar(&plan.Clients, "clients", 200, "how many Clients, in all of them")
	flag.IntVar(&plan.Names, "names", 2000, "how many names")
	flag.DurationVar(&plan.TTL, "ttl", 3*time.Second, "of the leases")
	flag.Uint64Var(&plan.Seed, "seed", 0, "of the faults; 0: by the clock")
	flag.StringVar(&plan.JSON, "json", "", "write the result to this `file`, too, each minute")
	flag.Parse()
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano()) >> 12
	}
	result, err := soak(plan)
	if err == nil {
		result.print(os.Stdout)
		err = result.write()
	}
	if err == nil {
		err = result.verdict()
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// plan is what is asked for.
type plan struct {
	For       time.Duration
	Processes int
	Clients   int
	Names     int
	TTL       time.Duration
	Seed      uint64
	JSON      string
}
