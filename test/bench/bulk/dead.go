package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/support/figures"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// deadWaiters is B11: many processes die while they wait. A caller that comes after them
// must not wait for them, and Redis must not be kept busy by them for long at a
// time.
func deadWaiters(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	size, rounds := 1200, 1
	if scale == Full {
		size, rounds = 10_000, 5
	}
	if err := configure(server, map[string]string{"slowlog-log-slower-than": "500", "slowlog-max-len": "4096", "latency-monitor-threshold": "1"}); err != nil {
		return nil, err
	}
	var after []float64
	blocked, monitored := 0.0, 0.0
	for i := range rounds {
		d, err := deadRound(server, size, fmt.Sprintf("bench:dead:%d", i))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(talk, "bench: B11: round %d of %d: served after %.1f ms, longest script %.2f ms\n", i+1, rounds, d.after, d.blocked)
		after = append(after, d.after)
		blocked, monitored = max(blocked, d.blocked), max(monitored, d.monitored)
	}
	var f report.BulkFigures
	f.Note("dead waiters", float64(size), "")
	f.AtMost(50, "the living waiter served after the release", figures.Median(after), "ms")
	f.AtMost(5, "longest pause of Redis, all rounds", blocked, "ms")
	f.AtMost(5, "longest pause by its latency monitor, whole ms", monitored, "ms")
	return []report.BulkRow{f.Row("B11", "holdfast")}, nil
}

// deadFound is what a round found, times in ms.
type deadFound struct{ after, blocked, monitored float64 }

func deadRound(server *redistest.Server, size int, name string) (found deadFound, err error) {
	h, err := newHolder(server, name)
	if err != nil {
		return found, err
	}
	defer h.Close()
	alive, err := dieWaiting(server, h, waiters{processes: 1, clients: size, callers: 1, shared: true}, name)
	if err != nil {
		return found, err
	}
	defer alive.Close()
	for _, reset := range []string{"SLOWLOG", "LATENCY"} {
		if _, err := server.Do(reset, "RESET"); err != nil {
			return found, err
		}
	}
	released := time.Now()
	if err := h.release(); err != nil {
		return found, err
	}
	got, err := within(alive.got)
	blocked, err1 := slowest(h.raw)
	monitored, err2 := latency(h.raw)
	return deadFound{float64(got.at.Sub(released).Microseconds()) / 1e3, blocked, monitored}, errors.Join(err, got.err, err1, err2)
}

// dieWaiting lets a crowd wait for what is held, kills it, and sends one who is
// alive after it.
func dieWaiting(server *redistest.Server, h *holder, c waiters, name string) (*aliveOne, error) {
	all, err := c.start(server, "queue", name)
	defer all.end()
	if err != nil {
		return nil, err
	}
	if _, err := c.enter(all, h, name); err != nil {
		return nil, err
	}
	all.end()
	if err := untilSo("the dead listen", func() (bool, error) {
		n, err := h.channels()
		return n <= 1, err // the holder's own
	}); err != nil {
		return nil, err
	}
	a, err := newAlive(server, name)
	if err != nil {
		return nil, err
	}
	return a, untilSo("the one alive is not in the queue", func() (bool, error) {
		queue, err := h.queue(name)
		return len(queue) > 0 && queue[len(queue)-1] == aliveOwner, err
	})
}

// aliveOne waits for the name in this process.
type aliveOne struct {
	store  *rueidisstore.Store
	client *holdfast.Client
	got    chan waited
}

const aliveOwner = "alive"

func newAlive(server *redistest.Server, name string) (*aliveOne, error) {
	store, err := rueidisstore.Open("redis://"+server.Addr(), nil)
	if err != nil {
		return nil, err
	}
	a := &aliveOne{store, holdfast.New(store, &holdfast.Options{Owner: aliveOwner}), make(chan waited, 1)}
	go func() {
		lease, err := a.client.Mutex(name).Lock(context.Background())
		at := time.Now()
		if err == nil {
			err = lease.Release()
		}
		a.got <- waited{lease, at, err}
	}()
	return a, nil
}

func (a *aliveOne) Close() {
	_ = a.client.Close()
	_ = a.store.Close()
}

// latency is the longest that a command took since the latency monitor was reset, in
// whole ms; 0: none took 1 ms.
func latency(raw rueidis.Client) (float64, error) {
	return longestOf(raw, raw.B().LatencyLatest().Build(), 3, "command", "fast-command")
}

// slowest is the longest that a command took since SLOWLOG was reset, in ms; by
// the server's wall clock, so that what else runs on the machine counts too.
func slowest(raw rueidis.Client) (float64, error) {
	us, err := longestOf(raw, raw.B().SlowlogGet().Count(4096).Build(), 2)
	return us / 1e3, err
}

// longestOf returns the largest number in a field of the entries of an answer. If there are
// names, it looks only at entries that begin with one of them.
func longestOf(raw rueidis.Client, command rueidis.Completed, field int, names ...string) (longest float64, err error) {
	entries, err := raw.Do(context.Background(), command).ToArray()
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		fields, err := entry.ToArray()
		if err != nil || len(fields) <= field {
			return 0, errors.Join(err, fmt.Errorf("an entry has %d fields", len(fields)))
		}
		if names != nil {
			name, err := fields[0].ToString()
			if err != nil {
				return 0, err
			}
			if !slices.Contains(names, name) {
				continue
			}
		}
		n, err := fields[field].AsInt64()
		if err != nil {
			return 0, err
		}
		longest = max(longest, float64(n))
	}
	return longest, nil
}
