package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// deadCrowd is B11: many processes die while they wait. Whoever comes after them
// must not wait for them, and Redis must not be kept busy by them for long at a
// time.
func deadCrowd(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	size, rounds := 1200, 1
	if scale == Full {
		size, rounds = 10_000, 5
	}
	for _, set := range [][2]string{{"slowlog-log-slower-than", "500"}, {"slowlog-max-len", "4096"}, {"latency-monitor-threshold", "1"}} {
		if _, err := server.Do("CONFIG", "SET", set[0], set[1]); err != nil {
			return nil, err
		}
	}
	var after, blocked, scripts, cpu []float64
	monitored := 0.0
	for i := range rounds {
		d, err := deadRound(server, size, fmt.Sprintf("bench:dead:%d", i))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(talk, "bench: B11: round %d of %d: served after %.1f ms, longest script %.2f ms\n", i+1, rounds, d.after, d.blocked)
		monitored = max(monitored, d.monitored)
		after, blocked, scripts, cpu = append(after, d.after), append(blocked, d.blocked), append(scripts, d.scripts), append(cpu, d.cpu)
	}
	for _, each := range [][]float64{after, blocked, scripts, cpu} {
		slices.Sort(each)
	}
	var f report.BulkFigures
	f.Note("dead waiters", float64(size), "")
	f.Note("rounds", float64(rounds), "")
	f.AtMost(50, "the living waiter served after the release", after[rounds/2], "ms")
	f.Note("fastest round", after[0], "ms")
	f.Note("slowest round", after[rounds-1], "ms")
	f.AtMost(5, "longest pause of Redis, all rounds", blocked[rounds-1], "ms")
	f.AtMost(5, "longest pause by its latency monitor, whole ms", monitored, "ms")
	f.Note("scripts until then", scripts[rounds/2], "")
	f.Note("processor time of Redis until then", cpu[rounds/2], "ms")
	return []report.BulkRow{f.Row("B11", "holdfast")}, nil
}

// deadFound is what a round found, times in ms.
type deadFound struct{ after, blocked, monitored, scripts, cpu float64 }

func deadRound(server *redistest.Server, size int, name string) (found deadFound, err error) {
	h, err := newHolder(server, name)
	if err != nil {
		return found, err
	}
	defer h.Close()
	alive, err := dieWaiting(server, h, crowd{processes: 1, clients: size, callers: 1, shared: true}, name)
	if err != nil {
		return found, err
	}
	defer alive.Close()
	for _, reset := range []string{"SLOWLOG", "LATENCY"} {
		if _, err := server.Do(reset, "RESET"); err != nil {
			return found, err
		}
	}
	from, err := lookAtServer(server)
	if err != nil {
		return found, err
	}
	released := time.Now()
	err1 := h.release()
	var got aliveGot
	select {
	case got = <-alive.got:
	case <-time.After(20 * time.Second):
		got.err = errors.New("the one alive was not served")
	}
	to, err2 := lookAtServer(server)
	blocked, err3 := h.slowest()
	monitored, err4 := h.latency()
	return deadFound{
		after:     float64(got.at.Sub(released).Microseconds()) / 1e3,
		blocked:   blocked,
		monitored: monitored,
		scripts:   float64(to.calls["evalsha"] - from.calls["evalsha"]),
		cpu:       float64((to.cpu - from.cpu).Microseconds()) / 1e3,
	}, errors.Join(err1, err2, err3, err4, got.err)
}

// dieWaiting lets a crowd wait for what is held, kills it, and sends one who is
// alive after it.
func dieWaiting(server *redistest.Server, h *holder, c crowd, name string) (*aliveOne, error) {
	all, err := c.start(server, "queue", name)
	defer all.end()
	if err != nil {
		return nil, err
	}
	if _, err := askAll[any](all, "open"); err != nil {
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
	return a, untilSo("the one alive is not in line", func() (bool, error) {
		line, err := h.line(name)
		return len(line) > 0 && line[len(line)-1] == aliveOwner, err
	})
}

// untilSo waits until something is so.
func untilSo(otherwise string, is func() (bool, error)) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if ok, err := is(); ok || err != nil {
			return err
		}
		if time.Since(began) > 20*time.Second {
			return errors.New(otherwise)
		}
	}
}

// aliveOne waits for the name in this process.
type aliveOne struct {
	store  *rueidisstore.Store
	client *holdfast.Client
	got    chan aliveGot
}

type aliveGot struct {
	at  time.Time
	err error
}

const aliveOwner = "alive"

func newAlive(server *redistest.Server, name string) (*aliveOne, error) {
	store, err := rueidisstore.Open("redis://"+server.Addr(), nil)
	if err != nil {
		return nil, err
	}
	a := &aliveOne{store, holdfast.New(store, &holdfast.Options{Owner: aliveOwner}), make(chan aliveGot, 1)}
	go func() {
		lease, err := a.client.Mutex(name).Lock(context.Background())
		at := time.Now()
		if err == nil {
			err = lease.Release()
		}
		a.got <- aliveGot{at, err}
	}()
	return a, nil
}

func (a *aliveOne) Close() {
	_ = a.client.Close()
	_ = a.store.Close()
}

// channels is how many channels somebody listens to.
func (h *holder) channels() (int, error) {
	found, err := h.raw.Do(context.Background(), h.raw.B().PubsubChannels().Pattern("holdfast/wake:*").Build()).AsStrSlice()
	return len(found), err
}

// latency is the longest that a command took since the latency monitor was reset, in
// whole ms; 0: none took 1 ms.
func (h *holder) latency() (ms float64, err error) {
	events, err := h.raw.Do(context.Background(), h.raw.B().LatencyLatest().Build()).ToArray()
	if err != nil {
		return 0, err
	}
	for _, event := range events {
		fields, err := event.ToArray()
		if err != nil || len(fields) < 4 {
			return 0, errors.Join(err, errors.New("LATENCY LATEST: "+strconv.Itoa(len(fields))+" fields"))
		}
		name, err := fields[0].ToString()
		if err != nil {
			return 0, err
		}
		longest, err := fields[3].AsInt64()
		if err != nil {
			return 0, err
		}
		if name == "command" || name == "fast-command" {
			ms = max(ms, float64(longest))
		}
	}
	return ms, nil
}

// slowest is the longest that a command took since SLOWLOG was reset, in ms; by
// the server's wall clock, so that what else runs on the machine counts too.
func (h *holder) slowest() (ms float64, err error) { return slowest(h.raw) }

func slowest(raw rueidis.Client) (ms float64, err error) {
	entries, err := raw.Do(context.Background(), raw.B().SlowlogGet().Count(4096).Build()).ToArray()
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		fields, err := entry.ToArray()
		if err != nil || len(fields) < 3 {
			return 0, errors.Join(err, errors.New("SLOWLOG: "+strconv.Itoa(len(fields))+" fields"))
		}
		us, err := fields[2].AsInt64()
		if err != nil {
			return 0, err
		}
		ms = max(ms, float64(us)/1e3)
	}
	return ms, nil
}
