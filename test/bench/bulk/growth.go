package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
	"github.com/holdfast-go/holdfast/test/support/figures"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// growth is B10: what one operation costs when there are more waiters and more
// names, what each of them takes in Redis, and that nothing of it stays.
func growth(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	waiters, names, held, times := []int{1, 10, 100, 1000}, []int{1, 10, 100, 1000}, 500, 100
	if scale == Full {
		waiters, names = append(waiters, 10_000), []int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000}
		held, times = 100_000, 5000 // so that Redis does not double its table, at 2^20 names
	}
	raw, err := newRawLocks(server)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	g := grower{server: server, raw: raw, talk: talk, times: times}
	line, err := g.overWaiters(waiters)
	if err != nil {
		return nil, err
	}
	taken, err := g.memory(held)
	if err != nil {
		return nil, err
	}
	used, err := g.overNames(names)
	if err != nil {
		return nil, err
	}
	left, err := g.retention()
	row := func(who string, figures []report.Figure) report.BulkRow {
		return report.BulkRow{Workload: "B10", Who: who, Figures: figures}
	}
	return []report.BulkRow{
		row("holdfast, waiters", line), row("holdfast, names", used), row("holdfast, memory of Redis", append(taken, left...)),
	}, err
}

type grower struct {
	server *redistest.Server
	raw    *rawLocks
	talk   io.Writer
	times  int // each cost is measured so often
}

// opCost is one operation, of the client and of Redis in its scripts, in µs.
type opCost struct{ client, server float64 }

const bestOf = 50

// measure is the best of fifty runs, since what else runs on the machine only
// adds, and so does a server on another processor, which is woken for each request:
// that changes every few hundred operations, by more than what is looked for. Of the
// single operations in each run it is the median for the client.
func (g *grower) measure(scripts int, operation func() error) (opCost, error) {
	var client, server []float64
	for range bestOf {
		from, err := scenario.Look(g.server)
		if err != nil {
			return opCost{}, err
		}
		each := make([]float64, max(g.times/bestOf, 1))
		for i := range each {
			began := time.Now()
			if err := operation(); err != nil {
				return opCost{}, err
			}
			each[i] = float64(time.Since(began).Nanoseconds()) / 1e3
		}
		to, err := scenario.Look(g.server)
		if err != nil {
			return opCost{}, err
		}
		client = append(client, figures.Median(each))
		server = append(server, to.PerScript(from)*float64(scripts))
	}
	return opCost{slices.Min(client), slices.Min(server)}, nil
}

// noteGrowth notes the costs, and how much faster than log n they grow from ten on:
// (cost(n) / cost(10)) / (log n / log 10), at the n where that is most.
func noteGrowth(f *report.BulkFigures, what string, ns []int, costs []opCost) {
	worst := opCost{}
	for i, n := range ns {
		f.Note(fmt.Sprintf("%s at %d, in Redis, least of %d", what, n, bestOf), costs[i].server, "µs")
		f.Note(fmt.Sprintf("%s at %d, for the client, least of %d", what, n, bestOf), costs[i].client, "µs")
		if n > 10 {
			by := math.Log10(float64(n))
			worst.server = max(worst.server, costs[i].server/costs[1].server/by)
			worst.client = max(worst.client, costs[i].client/costs[1].client/by)
		}
	}
	f.AtMost(1, "growth in Redis from 10 on, divided by log n", worst.server, "")
	f.AtMost(1, "growth for the client from 10 on, divided by log n", worst.client, "")
}

// overWaiters hands a name over while so many wait, each queued again at once.
func (g *grower) overWaiters(ns []int) ([]report.Figure, error) {
	if err := g.raw.listen(); err != nil {
		return nil, err
	}
	const name = "bench:line"
	line := []string{g.raw.id()} // the holder first
	do := func(c rueidis.Completed, expected string) error {
		return said(g.raw.client.Do(context.Background(), c), expected)
	}
	if err := do(g.raw.Lock(name, line[0]), "granted"); err != nil {
		return nil, err
	}
	var f report.BulkFigures
	var costs []opCost
	for _, n := range ns {
		if err := g.raw.all(n+1-len(line), "queued", func(int) rueidis.Completed {
			line = append(line, g.raw.id())
			return g.raw.join(name, line[len(line)-1])
		}); err != nil {
			return nil, err
		}
		c, err := g.measure(1, func() error {
			fresh := g.raw.id()
			handOver := g.raw.handOver(name, line[0], fresh)
			line = append(line[1:], fresh)
			return do(handOver, "queued")
		})
		if err != nil {
			return nil, fmt.Errorf("with %d waiters: %w", n, err)
		}
		fmt.Fprintf(g.talk, "bench: B10: a hand-over with %d waiters: %.1f µs in Redis\n", n, c.server)
		costs = append(costs, c)
	}
	noteGrowth(&f, "a hand-over, waiters", ns, costs)
	return f.All, nil
}

// memory is what Redis needs for names in each state.
func (g *grower) memory(n int) ([]report.Figure, error) {
	var f report.BulkFigures
	name := func(kind string, i int) string { return fmt.Sprintf("bench:%s:%07d", kind, i) }
	per := func(what, bound string, count int, fill func() error) error {
		from, err1 := scenario.Look(g.server)
		err2 := fill()
		to, err3 := scenario.Look(g.server)
		f.Note(what, (to.Memory-from.Memory)/float64(count), bound)
		return errors.Join(err1, err2, err3)
	}
	if _, err := g.server.Do("FLUSHALL"); err != nil {
		return nil, err
	}
	ids := make([]string, n)
	err1 := per("a name that is held", "B", n, func() error {
		return g.raw.all(n, "granted", func(i int) rueidis.Completed {
			ids[i] = g.raw.id()
			return g.raw.Lock(name("held", i), ids[i])
		})
	})
	err2 := per("more if one waits", "B", n, func() error {
		return g.raw.all(n, "queued", func(i int) rueidis.Completed { return g.raw.join(name("held", i), g.raw.id()) })
	})
	err3 := per("a waiter in a long queue", "B", n, func() error {
		return g.raw.all(n, "queued", func(int) rueidis.Completed { return g.raw.join(name("held", 0), g.raw.id()) })
	})
	_, err4 := g.server.Do("FLUSHALL")
	err5 := per("a name that was used once", "B", n, func() error { return g.useOnce("once", 0, n) })
	_, err6 := g.server.Do("FLUSHALL")
	return f.All, errors.Join(err1, err2, err3, err4, err5, err6)
}

// useOnce locks names and releases them.
func (g *grower) useOnce(kind string, from, to int) error {
	var id string
	return g.raw.all(2*(to-from), "", func(i int) rueidis.Completed {
		name := fmt.Sprintf("bench:%s:%07d", kind, from+i/2)
		if i%2 == 0 {
			id = g.raw.id()
			return g.raw.Lock(name, id)
		}
		return g.raw.Unlock(name, id)
	})
}

// overNames locks and releases new names while Redis knows so many.
func (g *grower) overNames(ns []int) ([]report.Figure, error) {
	store, err := rueidisstore.Open("redis://"+g.server.Addr(), nil)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()
	var f report.BulkFigures
	var costs []opCost
	known, fresh := 0, 0
	for _, n := range ns {
		if err := g.useOnce("known", known, n); err != nil {
			return nil, err
		}
		known = n
		c, err := g.measure(2, func() error {
			fresh++
			lease, err := client.Mutex(fmt.Sprintf("bench:new:%07d", fresh)).Lock(context.Background())
			if err != nil {
				return err
			}
			return lease.Release()
		})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(g.talk, "bench: B10: lock and release with %d names: %.1f µs in Redis\n", n, c.server)
		costs = append(costs, c)
	}
	noteGrowth(&f, "lock and release, names", ns, costs)
	return f.All, nil
}

// retained is how long a name is remembered after its last use.
const retained = 25*time.Hour + time.Second

// age brings every key nearer to its end, and tells how many have none, and the
// longest life in ms.
const age = `
local from, by, immortal, longest = ARGV[1], ARGV[2], 0, 0
local found = redis.call('SCAN', from, 'COUNT', 1000)
for _, key in ipairs(found[2]) do
  local left = redis.call('PTTL', key)
  if left < 0 then
    immortal = immortal + 1
  else
    longest = math.max(longest, left)
    redis.call('PEXPIRE', key, math.max(1, left - by))
  end
end
return {found[1], immortal, longest}`

// retention is what is left of all those names a day later; keys are aged, for
// nobody waits that long.
func (g *grower) retention() ([]report.Figure, error) {
	var f report.BulkFigures
	before, err := countKeys(g.server)
	if err != nil {
		return nil, err
	}
	f.Note("keys of names that were used", before, "")
	var immortal, longest int64
	for from := "0"; ; {
		c := g.raw.client.B().Eval().Script(age).Numkeys(0).Arg(from, strconv.FormatInt(retained.Milliseconds(), 10)).Build()
		reply, err := g.raw.client.Do(context.Background(), c).ToArray()
		if err != nil {
			return nil, err
		}
		n, err1 := reply[1].AsInt64()
		life, err2 := reply[2].AsInt64()
		next, err3 := reply[0].ToString()
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		immortal, longest, from = immortal+n, max(longest, life), next
		if from == "0" {
			break
		}
	}
	f.AtMost(0, "keys without an expiry", float64(immortal), "")
	f.AtMost(retained.Hours(), "longest TTL of a key", float64(longest)/3.6e6, "h")
	var left float64
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if left, err = countKeys(g.server); left == 0 || err != nil {
			break
		}
	}
	f.AtMost(0, "keys left a simulated day later", left, "")
	return f.All, err
}
