package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/bench/cell"
	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// readers is F5: a thousand callers of one process read one name at once, each
// with a lease of its own.
func readers(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	o := bulkOrder{Job: "read", Addr: server.Addr(), Name: "bench:read", Leases: 1000, TTL: 3 * time.Second}
	if scale == Full {
		o.TTL = holdfast.DefaultTTL
	}
	hold := o.TTL // three renewals of each
	job, err := startBulk(o, hold+2*time.Minute)
	if err != nil {
		return nil, err
	}
	defer job.End()
	from, err := lookAtServer(server)
	if err != nil {
		return nil, err
	}
	var locked, held, released readFound
	err1 := job.Ask("lock", &locked)
	to, err2 := lookAtServer(server)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	fmt.Fprintf(talk, "bench: F5: %d readers after %.0f ms, hold them for %v\n", o.Leases, locked.Ms, hold)
	renewing, reads, err := awaitRenewals(server, job, &held, hold)
	if err != nil {
		return nil, err
	}
	if err := job.Ask("release", &released); err != nil {
		return nil, err
	}
	n, rounds := float64(o.Leases), hold.Seconds()/(o.TTL.Seconds()/3)
	var f report.BulkFigures
	f.Note("readers", n, "")
	f.Note("all of them hold after", locked.Ms, "ms")
	f.Note("scripts until then", float64(to.calls["evalsha"]-from.calls["evalsha"]), "")
	f.Note("commands in a third of the ttl, for renewals", renewing/rounds, "")
	if reads > 0 {
		f.Note("times that Redis reads them from a connection", reads/rounds, "")
	}
	f.Note("heap per reader", locked.Heap/n, "B")
	f.Note("processor time of the process meanwhile", held.Cores, "cores")
	f.AtMost(0, "readers lost", held.Lost, "")
	f.Note("all of them have released after", released.Ms, "ms")
	return []report.BulkRow{f.Row("F5", "holdfast")}, nil
}

// awaitRenewals lets the child hold, and counts its commands meanwhile and how
// often Redis reads from a connection; 0: this server does not tell.
func awaitRenewals(server *redistest.Server, job *bulkChild, held *readFound, hold time.Duration) (commands, reads float64, err error) {
	from, err1 := lookAtServer(server)
	readsFrom, err2 := countReads(server)
	err3 := job.Ask(hold.String(), held)
	to, err4 := lookAtServer(server)
	readsTo, err5 := countReads(server)
	const own = 3 // INFO, INFO and INFO, each on a connection of its own
	return float64(to.calls["evalsha"] - from.calls["evalsha"]), max(0, readsTo-readsFrom-own), errors.Join(err1, err2, err3, err4, err5)
}

func countReads(server *redistest.Server) (float64, error) {
	info, err := server.Do("INFO", "stats")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "total_reads_processed:"); ok {
			return strconv.ParseFloat(n, 64)
		}
	}
	return 0, nil
}

type readFound struct{ Ms, Heap, Cores, Lost float64 }

// readJob reads in a process of its own.
type readJob struct {
	rw     *holdfast.RWMutex
	leases []*holdfast.Lease
	before bulkMemory
}

func newReadJob(o bulkOrder) (bulkJob, error) {
	store, err := rueidisstore.Open("redis://"+o.Addr, nil)
	if err != nil {
		return nil, err
	}
	client := holdfast.New(store, &holdfast.Options{TTL: o.TTL})
	lease, err := client.RWMutex(o.Name).RLock(context.Background())
	if err != nil {
		return nil, err
	}
	err = lease.Release()
	return &readJob{client.RWMutex(o.Name), make([]*holdfast.Lease, o.Leases), measureMemory()}, err
}

func (j *readJob) do(word string) (any, error) {
	switch word {
	case "lock":
		began := time.Now()
		err := j.atOnce(func(i int) (err error) {
			j.leases[i], err = j.rw.RLock(context.Background())
			return err
		})
		return readFound{Ms: ms(time.Since(began)), Heap: measureMemory().Heap - j.before.Heap}, err
	case "release":
		began := time.Now()
		err := j.atOnce(func(i int) error { return j.leases[i].Release() })
		return readFound{Ms: ms(time.Since(began))}, err
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return nil, err
	}
	began, cpu := time.Now(), cell.UsedCPU()
	time.Sleep(d)
	found := readFound{Cores: (cell.UsedCPU() - cpu).Seconds() / time.Since(began).Seconds()}
	for _, lease := range j.leases {
		if lease.Err() != nil {
			found.Lost++
		}
	}
	return found, nil
}

// atOnce gives each reader a goroutine. It returns the first error.
func (j *readJob) atOnce(do func(i int) error) error {
	failed := make([]error, len(j.leases))
	var wg sync.WaitGroup
	for i := range j.leases {
		wg.Go(func() { failed[i] = do(i) })
	}
	wg.Wait()
	i := slices.IndexFunc(failed, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return failed[i]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
