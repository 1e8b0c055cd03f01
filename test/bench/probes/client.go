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
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
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
	least, objects, n := math.Inf(1), uint64(0), 0
	for range p.size(4, 1) {
		runtime.GC()
		for range 10 {
			cpu, before := host.UsedCPU(), objectsAllocated()
			lap()
			least = min(least, float64(host.UsedCPU()-cpu)/float64(operations))
			objects, n = objects+objectsAllocated()-before, n+operations
		}
	}
	p.figures[perOp], p.figures[allocated] = least, float64(objects)/float64(n)
}

func objectsAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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

// renewals holds many names. Each is renewed when the Client has to subscribe again.
func (p *probe) renewals() {
	const names = 500
	s := newStore(false)
	client := newQuiet(s, holdfast.Options{TTL: time.Hour, Linger: time.Hour})
	check(p.lock(client, "idle").Release()) // it lingers, and so the Client subscribes
	for s.newest.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	leases := make([]*holdfast.Lease, names) // what keeps them
	for i := range leases {
		leases[i] = p.lock(client, fmt.Sprint("n", i))
	}
	p.laps(names, func() {
		before := s.renewed.Load()
		s.newest.Load().Close()
		for s.renewed.Load()-before < names {
			time.Sleep(5 * time.Millisecond)
		}
		for range 1000 { // until the answers have arrived, too
			runtime.Gosched()
		}
	})
	runtime.KeepAlive(leases)
}

// store answers at once, as a server would that has each name free. With push, each name is held,
// and granted by a push as soon as a client waits.
type store struct {
	push    bool
	token   atomic.Int64
	renewed atomic.Int64
	grants  chan string // ids
	newest  atomic.Pointer[subscription]
}

func newStore(push bool) *store { return &store{push: push, grants: make(chan string, 1024)} }

// holder has the names while clients wait for them.
const holder = "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|other"

var released = []string{"released"}

func (s *store) Eval(_ context.Context, call driver.Call) ([]string, error) {
	asked := int64(64) // tokens
	if call.Script.Name == "renew" {
		asked = 0
		if len(call.Args) > 1 {
			asked, _ = strconv.ParseInt(call.Args[1], 10, 64)
		}
	}
	now := time.Now().UnixMicro()
	switch call.Script.Name {
	case "lock":
		runtime.Gosched() // as a caller does that waits for the network: others come meanwhile
		if !s.push {
			return []string{fmt.Sprintf("granted %d %d 0 %d %d", s.token.Add(asked), asked, now/1e6, now%1e6)}, nil
		}
		if !slices.Contains(call.Args, "wait") {
			return []string{"held", holder, "15000", "0", fmt.Sprint(now)}, nil
		}
		s.grants <- call.Args[0]
		return []string{fmt.Sprintf("queued 15000 0 %d %d %d 1 1 0 %d %s", now, now/1e6, now%1e6, len(holder), holder)}, nil
	case "unlock":
		return released, nil
	case "renew":
		s.renewed.Add(1)
		if asked > 0 {
			return []string{fmt.Sprintf("renewed %d %d 0 %d %d", s.token.Add(asked), asked, now/1e6, now%1e6)}, nil
		}
		return []string{fmt.Sprintf("renewed 0 0 0 %d %d", now/1e6, now%1e6)}, nil
	}
	log.Fatalf("the store has no answer to the script %s", call.Script.Name)
	return nil, nil
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
	s.newest.Store(sub)
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
