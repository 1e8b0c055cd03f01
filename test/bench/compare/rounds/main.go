// Rounds measures what the client costs by itself, with a store that answers at
// once. It reads the name of a workload per line and plays a round: some laps of a
// millisecond each, so that a busy machine interrupts few of them. It writes a line
// with the nanoseconds of processor time that an operation took in the fastest lap,
// and its allocations in all laps. Program compare runs it, and builds it for other versions, too, so it
// knows only what 7730dd3 and all later ones have.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

func main() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1) // it runs between rounds
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		run, ok := workloads[in.Text()]
		if !ok {
			fmt.Fprintln(os.Stderr, "rounds: no workload", in.Text())
			os.Exit(2)
		}
		runtime.GC()
		m := &meter{}
		run(m)
		fmt.Printf("%.2f %.3f\n", m.best, float64(m.mallocs)/float64(m.ops))
	}
}

var workloads = map[string]func(*meter){
	"turns of 64 callers (B3)": func(m *meter) { turns(m, holdfast.Options{}, 64, 20) },
	"turns of 1 caller (B7)":   func(m *meter) { turns(m, holdfast.Options{Linger: time.Second}, 1, 2000) },
	"lock and release":         lockAndRelease,
	"a pushed grant":           pushed,
	"a renewal":                renewals,
}

// laps of a round.
const laps = 10

// meter reads how much an operation costs.
type meter struct {
	best         float64 // nanoseconds of processor time
	ops          int64
	mallocs      uint64
	began        time.Duration
	beganMallocs uint64
}

func (m *meter) start() {
	m.beganMallocs = mallocs()
	m.began = processorTime()
}

func (m *meter) stop(ops int64) {
	if each := float64(processorTime()-m.began) / float64(ops); m.ops == 0 || each < m.best {
		m.best = each
	}
	m.ops += ops
	m.mallocs += mallocs() - m.beganMallocs
}

func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

func client(s *store, options holdfast.Options) *holdfast.Client {
	options.Logger = slog.New(slog.DiscardHandler)
	return holdfast.New(s, &options)
}

// take locks a name.
func take(c *holdfast.Client, name string) *holdfast.Lease {
	lease, err := c.Mutex(name).Lock(context.Background())
	must(err)
	return lease
}

// turns is callers that want one name, again and again.
func turns(m *meter, options holdfast.Options, callers, each int) {
	c := client(newStore(false), options)
	defer c.Close()
	lap := func() {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range each {
					lease := take(c, "n")
					_ = lease.Token()
					must(lease.Release())
				}
			})
		}
		all.Wait()
	}
	lap()
	for range laps {
		m.start()
		lap()
		m.stop(int64(callers * each))
	}
}

// lockAndRelease asks the store for each.
func lockAndRelease(m *meter) {
	c := client(newStore(false), holdfast.Options{})
	defer c.Close()
	alone(m, c, 400)
}

// pushed waits in the queue of a name each time.
func pushed(m *meter) {
	c := client(newStore(true), holdfast.Options{})
	defer c.Close()
	alone(m, c, 200)
}

func alone(m *meter, c *holdfast.Client, times int) {
	for i := range laps + 1 {
		m.start()
		for range times {
			must(take(c, "n").Release())
		}
		if i > 0 { // the first makes what the others find
			m.stop(int64(times))
		}
	}
}

// renewals holds many names, of which each is renewed when a subscription begins
// again.
func renewals(m *meter) {
	const names = 500
	s := newStore(false)
	c := client(s, holdfast.Options{TTL: time.Hour, Linger: time.Hour})
	defer c.Close()
	must(take(c, "idle").Release()) // it lingers, and so the client subscribes
	for s.newest.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	leases := make([]*holdfast.Lease, names) // what keeps them
	for i := range leases {
		leases[i] = take(c, fmt.Sprint("n", i))
	}
	for range laps {
		before := s.renewed.Load()
		m.start()
		s.newest.Load().Close()
		for s.renewed.Load()-before < names {
			time.Sleep(5 * time.Millisecond)
		}
		for range 1000 { // until the answers have arrived, too
			runtime.Gosched()
		}
		m.stop(s.renewed.Load() - before)
	}
	runtime.KeepAlive(leases)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
