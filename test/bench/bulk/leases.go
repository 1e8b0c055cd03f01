package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
	"github.com/holdfast-go/holdfast/test/support/host"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// leasesInBulk is B8: a process holds very many names, which must cost little
// while nothing happens but their renewal.
func leasesInBulk(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	o := order{Job: "leases", Addr: server.Addr(), Name: "bench:lease", Leases: 2000, TTL: time.Second}
	hold := 500 * time.Millisecond
	if scale == Full {
		o.Leases, o.TTL, hold = 100_000, holdfast.DefaultTTL, time.Minute
	}
	held, err := holdLeases(server, o, hold, talk)
	if err != nil {
		return nil, err
	}
	keys, err := countKeys(server)
	if err != nil {
		return nil, err
	}
	n := float64(o.Leases)
	var f report.BulkFigures
	f.Note("leases", n, "")
	f.Note("time to lock all", held.Seconds, "s")
	f.AtMost(0, "lost", held.Lost, "leases")
	f.AtLeast(2*n, "their keys in Redis afterwards", keys-1, "") // the one that was locked first left its fence key
	f.AtLeast(0.5, "least remaining time", held.Slack, "ttl")
	f.AtMost(1536, "heap per lease", max(held.Locked, held.Heap)/n, "B")
	f.AtMost(256, "goroutines for all", float64(held.Goroutines), "")
	f.AtMost(1.0/3, "processor time of the process", held.Cores, "cores")
	f.AtMost(1.0/3, "processor time of Redis", held.to.Cores(held.from), "cores")
	f.Note("a renewal in Redis", held.to.PerScript(held.from), "µs")
	return []report.BulkRow{f.Row("B8", "holdfast")}, nil
}

// readers is F5: a thousand callers of one process read one name at once, each
// with a lease of its own.
func readers(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	o := order{Job: "leases", Addr: server.Addr(), Name: "bench:read", Leases: 1000, Read: true, TTL: 3 * time.Second}
	if scale == Full {
		o.TTL = holdfast.DefaultTTL
	}
	held, err := holdLeases(server, o, o.TTL, talk) // three renewals of each
	if err != nil {
		return nil, err
	}
	var f report.BulkFigures
	f.Note("readers", float64(o.Leases), "")
	f.Note("all of them hold after", 1000*held.Seconds, "ms")
	f.Note("heap per reader", held.Locked/float64(o.Leases), "B")
	f.AtMost(0, "readers lost", held.Lost, "")
	return []report.BulkRow{f.Row("F5", "holdfast")}, nil
}

// holdLeases lets a child lock all its leases and hold them for some time.
func holdLeases(server *redistest.Server, o order, hold time.Duration, talk io.Writer) (found leasesFound, err error) {
	child, err := start(o, hold+2*time.Minute)
	if err != nil {
		return found, err
	}
	defer child.End()
	if err := child.Ask("lock", &found); err != nil {
		return found, err
	}
	fmt.Fprintf(talk, "bench: %d leases after %.3f s, hold them for %v\n", o.Leases, found.Seconds, hold)
	from, err1 := scenario.Look(server)
	err2 := child.Ask(hold.String(), &found)
	to, err3 := scenario.Look(server)
	found.from, found.to = from, to
	return found, errors.Join(err1, err2, err3)
}

func countKeys(server *redistest.Server) (float64, error) {
	text, err := server.Do("DBSIZE")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

// leasesFound is what a child reports of its leases.
type leasesFound struct {
	Seconds    float64 // until it had all
	Locked     float64 // heap then, more than before the first lease
	Heap       float64 // at the end
	Goroutines int     // at the end, more than before
	Lost       float64
	Slack      float64 // least time left of any lease at any look, in ttl
	Cores      float64 // used by the process

	from, to scenario.State // of the server
}

// leasesJob holds names in a process of its own.
type leasesJob struct {
	order      order
	client     *holdfast.Client
	leases     []*holdfast.Lease
	heap       float64 // before
	goroutines int
	found      leasesFound
}

func newLeasesJob(o order) (job, error) {
	store, err := rueidisstore.Open("redis://"+o.Addr, nil)
	if err != nil {
		return nil, err
	}
	j := &leasesJob{order: o, client: holdfast.New(store, &holdfast.Options{TTL: o.TTL}), leases: make([]*holdfast.Lease, o.Leases)}
	lease, err := j.take(context.Background(), o.Name)
	if err != nil {
		return nil, err
	}
	err = lease.Release()
	j.heap, j.goroutines = heap(), runtime.NumGoroutine()
	return j.do, err
}

func (j *leasesJob) take(ctx context.Context, name string) (*holdfast.Lease, error) {
	if j.order.Read {
		return j.client.RWMutex(j.order.Name).RLock(ctx)
	}
	return j.client.Mutex(name).Lock(ctx)
}

func (j *leasesJob) do(word string) (any, error) {
	if word == "lock" {
		return &j.found, j.lock()
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return nil, err
	}
	j.hold(d)
	return &j.found, nil
}

func (j *leasesJob) lock() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hands := 64
	if j.order.Read {
		hands = j.order.Leases // they all come at once
	}
	began := time.Now()
	err := inParallel(j.order.Leases, hands, func(i int) (err error) {
		j.leases[i], err = j.take(ctx, fmt.Sprintf("%s:%06d", j.order.Name, i))
		return err
	})
	j.found.Seconds = time.Since(began).Seconds()
	j.found.Locked = heap() - j.heap
	return err
}

// hold looks at every lease a few times, a part of them at a time; that costs
// some hundredths of a core itself.
func (j *leasesJob) hold(d time.Duration) {
	const parts = 100
	every := j.order.TTL / 3 / parts // each, then, about once between two renewals
	began, cpu := time.Now(), host.UsedCPU()
	least := time.Duration(math.MaxInt64)
	for i := 0; time.Since(began) < d; i++ {
		for k := i % parts; k < len(j.leases); k += parts {
			least = min(least, j.leases[k].Remaining())
		}
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * every)))
	}
	j.found.Slack = least.Seconds() / j.order.TTL.Seconds()
	j.found.Cores = (host.UsedCPU() - cpu).Seconds() / time.Since(began).Seconds()
	for _, lease := range j.leases {
		if lease.Err() != nil {
			j.found.Lost++
		}
	}
	j.found.Heap, j.found.Goroutines = heap()-j.heap, runtime.NumGoroutine()-j.goroutines
}
