package probes

import (
	"context"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/bench/counters"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// What the client costs by itself, with a store that answers at once, on one processor. A probe
// runs in laps of a millisecond, so that a busy machine interrupts few of them. The lap with
// the least processor time counts.

const (
	perOp     = "processor time per operation, ns"
	allocated = "allocations per operation"
)

// laps runs an operation so many times in each lap, after one that makes what the others find.
func (p *probe) laps(operations int, lap func()) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1) // it runs between the rounds
	lap()
	least, objects, n := math.Inf(1), 0.0, 0
	for range p.size(4, 1) {
		runtime.GC()
		for range 10 {
			cpu, before := host.UsedCPU(), counters.Allocated("objects")
			lap()
			least = min(least, float64(host.UsedCPU()-cpu)/float64(operations))
			objects, n = objects+counters.Allocated("objects")-before, n+operations
		}
	}
	p.figures[perOp], p.figures[allocated] = least, objects/float64(n)
}

func newQuiet(s *store, options holdfast.Options) *holdfast.Client {
	options.Logger = slog.New(slog.DiscardHandler)
	return holdfast.New(s, &options)
}

// turns is callers that want one name, again and again.
func (p *probe) turns(options holdfast.Options, callers, each int) {
	client := newQuiet(newStore(false), options)
	p.laps(callers*each, func() {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range each {
					lease := p.lock(client, "n")
					_ = lease.Token()
					check(lease.Release())
				}
			})
		}
		all.Wait()
	})
}

// lockAndRelease asks the store each time; with push it waits in the queue of the name.
func (p *probe) lockAndRelease(push bool, times int) {
	client := newQuiet(newStore(push), holdfast.Options{})
	p.laps(times, func() {
		for range times {
			check(p.lock(client, "n").Release())
		}
	})
}

// store answers at once, as a server would that has each name free. With push, each name is held,
// and granted by a push as soon as a client waits.
type store struct {
	push   bool
	token  atomic.Int64
	grants chan string // ids
}

func newStore(push bool) *store { return &store{push: push, grants: make(chan string, 1024)} }

// holder has the names while clients wait for them.
const holder = "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|other"

func (s *store) Eval(_ context.Context, call driver.Call) ([]string, error) {
	now, tokens := time.Now().UnixMicro(), int64(64)
	switch {
	case call.Script.Name == "unlock":
		return []string{"released"}, nil
	case call.Script.Name == "renew":
		if tokens = 0; len(call.Args) > 1 {
			tokens, _ = strconv.ParseInt(call.Args[1], 10, 64)
		}
		return []string{fmt.Sprintf("renewed %d %d 0 %d %d", s.token.Add(tokens)*min(tokens, 1), tokens, now/1e6, now%1e6)}, nil
	case call.Script.Name != "lock":
		log.Fatalf("the store has no answer to the script %s", call.Script.Name)
	case !s.push:
		runtime.Gosched() // as a caller does that waits for the network: others come meanwhile
		return []string{fmt.Sprintf("granted %d %d 0 %d %d", s.token.Add(tokens), tokens, now/1e6, now%1e6)}, nil
	case !slices.Contains(call.Args, "wait"):
		return []string{"held", holder, "15000", "0", fmt.Sprint(now)}, nil
	}
	runtime.Gosched()
	s.grants <- call.Args[0]
	return []string{fmt.Sprintf("queued 15000 0 %d %d %d 1 1 0 %d %s", now, now/1e6, now%1e6, len(holder), holder)}, nil
}

func (s *store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s *store) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *store) Subscribe(_ context.Context, _ string, message func(string)) (driver.Subscription, error) {
	sub := &subscription{done: make(chan struct{})}
	go func() {
		for {
			select {
			case <-sub.done:
				return
			case id := <-s.grants:
				now := time.Now().UnixMicro()
				message(fmt.Sprintf("grant %d 64 0 %d %d 2000 %s", s.token.Add(64), now/1e6, now%1e6, id))
			}
		}
	}()
	return sub, nil
}

func (s *store) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *store) Sharded() bool                                         { return false }

type subscription struct {
	done  chan struct{}
	close sync.Once
}

func (s *subscription) Ping(context.Context) error { return nil }
func (s *subscription) Done() <-chan struct{}      { return s.done }
func (s *subscription) Close()                     { s.close.Do(func() { close(s.done) }) }
