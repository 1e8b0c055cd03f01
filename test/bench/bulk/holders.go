package bulk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// holders is F4: what one more acquisition and release of a semaphore costs while
// so many hold it, and for how long that keeps Redis busy at once.
func holders(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	ns, times := []int{1, 100, 500}, 50
	if scale == Full {
		ns, times = []int{1, 100, 1000, 5000}, 250
	}
	if err := configure(server, map[string]string{"slowlog-log-slower-than": "20", "slowlog-max-len": "4096"}); err != nil {
		return nil, err
	}
	raw, err := newRueidis(server.Addr())
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	h := holding{grower{server: server, talk: talk, times: times}, raw}
	var rows []report.BulkRow
	for _, who := range []struct {
		name string
		over func(*report.BulkFigures, []int) error
	}{{"holdfast", h.semaphore}, {rivals.ZsetScript.Who, h.zset}} {
		var f report.BulkFigures
		if err := who.over(&f, ns); err != nil {
			return rows, fmt.Errorf("%s: %w", who.name, err)
		}
		rows = append(rows, f.Row("F4", who.name))
	}
	return rows, nil
}

type holding struct {
	grower
	raw rueidis.Client
}

// semaphore holds permits by one Client, which renews none of them meanwhile.
func (h *holding) semaphore(f *report.BulkFigures, ns []int) error {
	store, err := rueidisstore.Open("redis://"+h.server.Addr(), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	client := holdfast.New(store, &holdfast.Options{TTL: time.Hour})
	defer client.Close()
	semaphore := client.Semaphore("bench:holders", 2*ns[len(ns)-1])
	acquire := func() (*holdfast.Lease, error) { return semaphore.Acquire(context.Background(), 1) }
	return h.over(f, ns, 2, func(n int) error {
		return inParallel(n, fillers, func(int) error {
			_, err := acquire()
			return err
		})
	}, func() error {
		lease, err := acquire()
		if err != nil {
			return err
		}
		return lease.Release()
	})
}

// zset is a semaphore that counts its holders without looking at them.
func (h *holding) zset(f *report.BulkFigures, ns []int) error {
	m := func() *rivals.ZsetLua { return &rivals.ZsetLua{RC: h.raw, Name: "bench:zset", ID: rand.Text()} }
	acquire := func(m *rivals.ZsetLua) error {
		got, err := m.Acquire(context.Background(), 2*ns[len(ns)-1])
		if err == nil && !got {
			err = errors.New("no permit is left")
		}
		return err
	}
	one := m()
	return h.over(f, ns, 1, func(n int) error {
		return inParallel(n, fillers, func(int) error { return acquire(m()) })
	}, func() error {
		return errors.Join(acquire(one), one.Unlock())
	})
}

// over measures an operation of so many scripts at each number of holders.
func (h *holding) over(f *report.BulkFigures, ns []int, scripts int, more func(n int) error, operation func() error) error {
	held := 0
	var costs []opCost
	for _, n := range ns {
		if err := more(n - held); err != nil {
			return err
		}
		held = n
		c, err := h.measure(scripts, operation)
		if err != nil {
			return err
		}
		longest, err := h.longest(operation)
		if err != nil {
			return err
		}
		fmt.Fprintf(h.talk, "bench: F4: acquire and release with %d holders: %.1f µs in Redis\n", n, c.server)
		f.Note(fmt.Sprintf("acquire and release, holders at %d, in scripts", n), c.server, "µs")
		f.Note(fmt.Sprintf("acquire and release, holders at %d, for the client", n), c.client, "µs")
		f.Note(fmt.Sprintf("longest command, holders at %d", n), longest, "µs")
		costs = append(costs, c)
	}
	last := len(ns) - 1
	f.Note("each further holder, in scripts", (costs[last].server-costs[last-1].server)/float64(ns[last]-ns[last-1]), "µs")
	return nil
}

// longest is the longest that Redis was kept busy by one command of some
// operations (0: by none for as long as SLOWLOG looks at), by the clock on the
// wall, in µs.
func (h *holding) longest(operation func() error) (float64, error) {
	if _, err := h.server.Do("SLOWLOG", "RESET"); err != nil {
		return 0, err
	}
	for range h.times {
		if err := operation(); err != nil {
			return 0, err
		}
	}
	ms, err := slowest(h.raw)
	return 1000 * ms, err
}

// fillers are few: with thousands of holders a script takes milliseconds, and on a
// machine that is busy with other things many at once would wait for longer than a
// request may take.
const fillers = 8
