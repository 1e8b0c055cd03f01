package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/bench/cell"
	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// leasesInBulk is B8: a process holds very many names, which must cost little
// while nothing happens but their renewal.
func leasesInBulk(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	o := bulkOrder{Job: "leases", Addr: server.Addr(), Name: "bench:lease", Leases: 2000, TTL: time.Second}
	hold := 500 * time.Millisecond
	if scale == Full {
		o.Leases, o.TTL, hold = 100_000, holdfast.DefaultTTL, time.Minute
	}
	job, err := startBulk(o, hold+2*time.Minute)
	if err != nil {
		return nil, err
	}
	defer job.End()
	var locked leasesLocked
	if err := job.Ask("lock", &locked); err != nil {
		return nil, err
	}
	fmt.Fprintf(talk, "bench: B8: %d leases after %.1f s, hold them for %v\n", o.Leases, locked.Seconds, hold)
	from, err1 := lookAtServer(server)
	var held leasesHeld
	err2 := job.Ask(hold.String(), &held)
	to, err3 := lookAtServer(server)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	keys, err := countKeys(server)
	if err != nil {
		return nil, err
	}
	n := float64(o.Leases)
	var f report.BulkFigures
	f.Note("leases", n, "")
	f.Note("time to lock all", locked.Seconds, "s")
	f.AtMost(0, "lost", held.Lost, "leases")
	f.AtLeast(2*n, "their keys in Redis afterwards", keys-1, "") // the one that was locked first left its F
	f.AtLeast(0.5, "least remaining time", held.Slack, "ttl")
	f.AtMost(1536, "heap per lease", max(locked.Heap, held.Heap)/n, "B")
	f.AtMost(256, "goroutines for all", float64(held.Goroutines), "")
	f.AtMost(1.0/3, "processor time of the process", held.Cores, "cores")
	f.AtMost(1.0/3, "processor time of Redis", to.cores(from), "cores")
	f.Note("renewals", to.perSecond(from, "evalsha"), "/s")
	f.Note("a renewal in Redis", to.perScript(from), "µs")
	return []report.BulkRow{f.Row("B8", "holdfast")}, nil
}

func countKeys(server *redistest.Server) (float64, error) {
	text, err := server.Do("DBSIZE")
	var n float64
	if err == nil {
		_, err = fmt.Sscan(text, &n)
	}
	return n, err
}

// leasesJob holds names in a process of its own.
type leasesJob struct {
	order  bulkOrder
	client *holdfast.Client
	leases []*holdfast.Lease
	before bulkMemory
}

type leasesLocked struct{ Seconds, Heap float64 }

type leasesHeld struct {
	Lost       float64
	Slack      float64 // least time left of any lease at any look, in ttl
	Heap       float64 // more than before the first lease
	Goroutines int     // more than before
	Cores      float64 // used by the process
}

func newLeasesJob(o bulkOrder) (bulkJob, error) {
	store, err := rueidisstore.Open("redis://"+o.Addr, nil)
	if err != nil {
		return nil, err
	}
	j := &leasesJob{order: o, client: holdfast.New(store, &holdfast.Options{TTL: o.TTL}), leases: make([]*holdfast.Lease, o.Leases)}
	lease, err := j.client.Mutex(o.Name).Lock(context.Background())
	if err != nil {
		return nil, err
	}
	err = lease.Release()
	j.before = measureMemory()
	return j, err
}

func (j *leasesJob) do(word string) (any, error) {
	if word == "lock" {
		began := time.Now()
		err := j.Lock()
		return leasesLocked{time.Since(began).Seconds(), measureMemory().Heap - j.before.Heap}, err
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return nil, err
	}
	return j.hold(d), nil
}

func (j *leasesJob) Lock() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const hands = 64
	failed := make([]error, hands)
	var wg sync.WaitGroup
	for h := range hands {
		wg.Go(func() {
			for i := h; i < len(j.leases) && failed[h] == nil; i += hands {
				j.leases[i], failed[h] = j.client.Mutex(fmt.Sprintf("%s:%06d", j.order.Name, i)).Lock(ctx)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// hold looks at every lease a few times, a part of them at a time; that costs
// some hundredths of a core itself.
func (j *leasesJob) hold(d time.Duration) leasesHeld {
	const parts = 100
	every := j.order.TTL / 3 / parts // each, then, about once between two renewals
	began, cpu := time.Now(), cell.UsedCPU()
	least := time.Duration(math.MaxInt64)
	for i := 0; time.Since(began) < d; i++ {
		for k := i % parts; k < len(j.leases); k += parts {
			least = min(least, j.leases[k].Remaining())
		}
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * every)))
	}
	found := leasesHeld{
		Slack: least.Seconds() / j.order.TTL.Seconds(),
		Cores: (cell.UsedCPU() - cpu).Seconds() / time.Since(began).Seconds(),
	}
	for _, lease := range j.leases {
		if lease.Err() != nil {
			found.Lost++
		}
	}
	after := measureMemory()
	found.Heap, found.Goroutines = after.Heap-j.before.Heap, after.Goroutines-j.before.Goroutines
	return found
}
