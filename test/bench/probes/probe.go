// Package probes measures what callers in a loop do not show: large numbers of leases,
// waiters, names and holders, and what the client itself costs. Each probe runs in a process
// and on a server of its own.
package probes

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/counters"
	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Probe is one measurement.
type Probe struct {
	Name, Says string
	Who        []string
	Rounds     int // at most
	measure    func(*probe)
}

// Probes in the order in which they run.
var Probes = []Probe{
	{"B8", "100,000 leases held by one process", only, 1, leases},
	{"B9", "100 clients of 100 callers each wait for one name", []string{"holdfast", "redsync"}, 1, waiters(100, 10, 100, 10)},
	{"B9c", "10,000 clients wait for one name", only, 7, waiters(10_000, 300, 1, 1)},
	{"B10", "growth with waiters and names, and memory in Redis", only, 1, growth},
	{"B11", "10,000 dead waiters in front of a living one", only, 5, deadWaiters},
	{"F4", "growth of a semaphore with its holders", only, 1, holders},
	{"F5", "1,000 readers of one name in one process", only, 1, readers},
	{"F11", "time from a revoke or steal to the holder", only, 1, revocations},
	{"Q", "a lock on a quorum of five servers", []string{"holdfast", "redsync"}, 1, quorums},
	{"S", "what the scripts cost the server", only, unbounded, scripts},
	{"C1", "the client alone: turns of 64 callers", only, unbounded, func(p *probe) { p.turns(holdfast.Options{}, 64, 20) }},
	{"C2", "the client alone: turns of 1 caller, with Linger", only, unbounded, func(p *probe) { p.turns(holdfast.Options{Linger: time.Second}, 1, 2000) }},
	{"C3", "the client alone: lock and release", only, unbounded, func(p *probe) { p.lockAndRelease(false, 400) }},
	{"C4", "the client alone: a pushed grant", only, unbounded, func(p *probe) { p.lockAndRelease(true, 200) }},
}

const unbounded = math.MaxInt

var only = []string{"holdfast"}

// ChildVariable is set in the environment of a process that has to run [Child].
const ChildVariable = "HOLDFAST_BENCH_PROBE"

type order struct {
	Name, Who, Addr string
	Quick           bool // a tenth of the size or less, which shows that all runs
}

// Measure runs a probe in a process of a program, empty for this one, on a server of its own.
func Measure(name, who, program string, quick bool) (figures map[string]float64, err error) {
	dir, err := os.MkdirTemp("", "holdfast-probe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server, err := redistest.Run(dir, redistest.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	c, err := child.StartProgram(program, ChildVariable, "1", 5*time.Minute)
	if err != nil {
		return nil, err
	}
	defer c.End()
	return figures, c.Ask(order{name, who, server.Addr(), quick}, &figures)
}

// Child runs one probe. What fails ends the process, and its parent says why; nothing is
// closed.
func Child(stdin io.Reader, stdout io.Writer) error {
	lines := child.NewLines(stdin)
	p := &probe{ctx: context.Background(), figures: map[string]float64{}}
	if err := lines.Read(&p.order); err != nil {
		return err
	}
	i := slices.IndexFunc(Probes, func(one Probe) bool { return one.Name == p.Name })
	if i < 0 {
		return fmt.Errorf("no probe %q", p.Name)
	}
	p.rc = redis.NewClient(&redis.Options{Addr: p.Addr, ReadTimeout: time.Minute})
	Probes[i].measure(p)
	return child.Say(stdout, p.figures)
}

// probe is one that runs.
type probe struct {
	order
	ctx     context.Context
	rc      *redis.Client
	figures map[string]float64 // by name and unit
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// size is the full size, or the quick one.
func (p *probe) size(full, quick int) int {
	if p.Quick {
		return quick
	}
	return full
}

// duration is size for a time.
func (p *probe) duration(full, quick time.Duration) time.Duration {
	return time.Duration(p.size(int(full), int(quick)))
}

// store opens one on connections of its own.
func (p *probe) store() driver.Store {
	return must(rueidisstore.Open("redis://"+p.Addr, nil))
}

func (p *probe) client(owner string) *holdfast.Client {
	return holdfast.New(p.store(), &holdfast.Options{Owner: owner})
}

func (p *probe) lock(client *holdfast.Client, name string) *holdfast.Lease {
	return must(client.Mutex(name).Lock(p.ctx))
}

func (p *probe) counters() counters.State { return must(counters.Read(p.ctx, p.rc)) }

// cost is what an operation of so many scripts takes in Redis, in µs: the least of fifty means,
// since all else that runs on the machine only adds.
func (p *probe) cost(scripts float64, operation func()) float64 {
	least := math.Inf(1)
	for range 50 {
		from := p.counters()
		for range p.size(100, 2) {
			operation()
		}
		least = min(least, p.counters().PerScript(from)*scripts)
	}
	return least
}

// queue is the key of the queue of a name.
func queue(name string) string {
	return fmt.Sprintf("holdfast/queue:{%s%s}", holdfast.DefaultPrefix, name)
}

// awaitQueue waits until so many clients are in the queue of a name.
func (p *probe) awaitQueue(name string, n int) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		got := must(p.rc.ZCard(p.ctx, queue(name)).Result())
		if got == int64(n) {
			return
		}
		if time.Since(began) > time.Minute {
			log.Fatalf("%d clients are in the queue of %s after a minute, want %d", got, name, n)
		}
	}
}

// heap is the bytes in live objects of this process.
func heap() float64 {
	var m runtime.MemStats
	for range 3 { // what a pool holds lives for two
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// inParallel does something n times, so many at once.
func inParallel(n, atOnce int, do func(i int)) {
	var wg sync.WaitGroup
	for h := range atOnce {
		wg.Go(func() {
			for i := h; i < n; i += atOnce {
				do(i)
			}
		})
	}
	wg.Wait()
}

// quantiles notes p50 and p99 of what was measured in ms.
func (p *probe) quantiles(what string, ms []float64) {
	if slices.Sort(ms); len(ms) > 0 {
		p.figures[what+", p50, ms"], p.figures[what+", p99, ms"] = ms[len(ms)/2], ms[len(ms)*99/100]
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
