package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// crowd is what waits for one name: so many clients in so many processes. How it is
// served stands in served.go.
type crowd struct {
	who       string
	processes int
	clients   int // of a process
	callers   int // of a client
	shared    bool
	wait      time.Duration // how long they all wait
}

func (c crowd) size() int { return c.processes * c.clients * c.callers }

// waitersInBulk is B9: very many wait for one name, which must cost Redis and
// their processes little, and go fast when it is released.
func waitersInBulk(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	callers := crowd{"holdfast", 2, 5, 10, false, 100 * time.Millisecond}
	clients := crowd{"holdfast, a client each", 1, 300, 1, true, 100 * time.Millisecond}
	if scale == Full {
		callers = crowd{"holdfast", 10, 10, 100, false, time.Minute}
		clients = crowd{"holdfast, a client each", 1, 10_000, 1, true, time.Minute}
	}
	var rows []report.BulkRow
	for _, c := range []crowd{callers, clients} {
		fmt.Fprintf(talk, "bench: B9: %s: %d callers wait for %v\n", c.who, c.size(), c.wait)
		f, done, err := c.measure(server)
		if err != nil {
			return rows, err
		}
		if !c.shared {
			c.judge(&f, []service{done})
			rows = append(rows, f.Row("B9", c.who))
			continue
		}
		served, err := c.inRounds(server, done, scale, talk)
		if err != nil {
			return rows, err
		}
		rows = append(append(rows, f.Row("B9", c.who)), served...)
	}
	callers.who, callers.wait = "redsync, its defaults", min(callers.wait, 5*time.Second)
	row, err := callers.polling(server)
	return append(rows, row), err
}

// start starts the processes and opens the clients.
func (c crowd) start(server *redistest.Server, job, name string) (bulkChildren, error) {
	var all bulkChildren
	for i := range c.processes {
		one, err := startBulk(bulkOrder{
			Job: job, Addr: server.Addr(), Number: i * c.clients, Name: name,
			Clients: c.clients, Callers: c.callers, Shared: c.shared,
		}, c.wait+3*time.Minute)
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

// measure is what a crowd costs while it waits, and how it is served after that.
func (c crowd) measure(server *redistest.Server) (report.BulkFigures, service, error) {
	var f report.BulkFigures
	done, err := c.stand(server, func(all bulkChildren, idle float64, first queueMemory) error {
		f.Note("callers that wait", float64(c.size()), "")
		return c.whileTheyWait(&f, server, all, idle, first)
	})
	return f, done, err
}

// stand makes a crowd wait for a name, and lets it go after that.
func (c crowd) stand(server *redistest.Server, wait func(all bulkChildren, idle float64, first queueMemory) error) (service, error) {
	const name = "bench:crowd"
	all, err := c.start(server, "queue", name)
	defer all.end()
	if err != nil {
		return service{}, err
	}
	holder, err := newHolder(server, name)
	if err != nil {
		return service{}, err
	}
	defer holder.Close()
	if _, err := askAll[any](all, "open"); err != nil {
		return service{}, err
	}
	idle, err := idleRate(server, min(c.wait, 10*time.Second))
	if err != nil {
		return service{}, err
	}
	order, err := c.enter(all, holder, name)
	if err != nil {
		return service{}, err
	}
	first, err := askAll[queueMemory](all, "memory")
	if err != nil {
		return service{}, err
	}
	if _, err := askAll[any](all, "rest"); err != nil {
		return service{}, err
	}
	if err := wait(all, idle, sumMemory(first)); err != nil {
		return service{}, err
	}
	return c.release(all, holder, order)
}

// enter lets the first caller of each client in, and returns the clients in the
// order of the line.
func (c crowd) enter(all bulkChildren, holder *holder, name string) ([]string, error) {
	if _, err := askAll[any](all, "first"); err != nil {
		return nil, err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		line, err := holder.line(name)
		if err != nil {
			return nil, err
		}
		if len(line) == c.processes*c.clients {
			return line, nil
		}
		if time.Since(began) > time.Minute {
			return nil, fmt.Errorf("%d of %d clients are in line", len(line), c.processes*c.clients)
		}
	}
}

// What clients send while they wait. A ping of rueidisstore is a SUBSCRIBE of
// what is subscribed; PING is rueidis' own, on idle connections.
var (
	scriptCommands = []string{"evalsha", "eval"}
	wakeCommands   = []string{"subscribe"}
	pingCommands   = []string{"ping"}
	everyCommand   = slices.Concat(scriptCommands, wakeCommands, pingCommands)
)

// idleRate is what connections send that nobody uses.
func idleRate(server *redistest.Server, d time.Duration) (float64, error) {
	from, err1 := lookAtServer(server)
	time.Sleep(d)
	to, err2 := lookAtServer(server)
	return to.perSecond(from, everyCommand...), errors.Join(err1, err2)
}

func (c crowd) whileTheyWait(f *report.BulkFigures, server *redistest.Server, all bulkChildren, idle float64, first queueMemory) error {
	before, err := c.pings(all)
	if err != nil {
		return err
	}
	from, err1 := lookAtServer(server)
	time.Sleep(c.wait)
	to, err2 := lookAtServer(server)
	after, err3 := c.pings(all)
	used, err4 := askAll[queueMemory](all, "memory")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	f.Note("scripts", to.perSecond(from, scriptCommands...), "/s")
	if c.shared {
		f.AtMost(100, "commands for the queue", to.perSecond(from, scriptCommands...), "/s")
		f.Note("pings that their subscriptions would send", float64(after-before)/to.at.Sub(from.at).Seconds(), "/s")
	} else {
		f.Note("pings of the subscriptions", to.perSecond(from, wakeCommands...), "/s")
		f.AtMost(30, "commands of holdfast", to.perSecond(from, scriptCommands...)+to.perSecond(from, wakeCommands...), "/s")
		f.Note("PING of rueidis, on each idle connection", to.perSecond(from, pingCommands...), "/s")
		f.Note("PING of rueidis before the wait", idle, "/s")
	}
	f.Note("processor time of Redis", to.cores(from), "cores")
	c.inMemory(f, first, sumMemory(used))
	return nil
}

// inMemory tells the first caller of each client, which makes it open a
// connection, from those who join it.
func (c crowd) inMemory(f *report.BulkFigures, first, all queueMemory) {
	clients := float64(c.processes * c.clients)
	f.Note("heap for a client's first caller and its subscription", first.Heap/clients, "B")
	if more := float64(c.size()) - clients; more > 0 {
		f.AtMost(2048, "heap for each further caller", (all.Heap-first.Heap)/more, "B")
		f.Note("stack of its goroutine", (all.Stack-first.Stack)/more, "B")
	}
}

func sumMemory(each []queueMemory) (sum queueMemory) {
	for _, m := range each {
		sum.Heap, sum.Stack = sum.Heap+m.Heap, sum.Stack+m.Stack
	}
	return sum
}

func (c crowd) pings(all bulkChildren) (n int64, err error) {
	if !c.shared {
		return 0, nil
	}
	each, err := askAll[int64](all, "pings")
	for _, k := range each {
		n += k
	}
	return n, err
}

// polling lets as many callers poll.
func (c crowd) polling(server *redistest.Server) (report.BulkRow, error) {
	row := report.BulkRow{Workload: "B9", Who: c.who}
	const name = "bench:polled"
	if _, err := server.Do("SET", name, "held"); err != nil {
		return row, err
	}
	all, err := c.start(server, "poll", name)
	defer all.end()
	if err != nil {
		return row, err
	}
	if _, err := askAll[any](all, "wait"); err != nil {
		return row, err
	}
	time.Sleep(c.wait / 2) // until their connections are made
	from, err1 := lookAtServer(server)
	time.Sleep(c.wait)
	to, err2 := lookAtServer(server)
	var f report.BulkFigures
	f.Note("callers that wait", float64(c.size()), "")
	f.Note("commands", to.perSecond(from, "set", "evalsha", "eval", "ping"), "/s")
	f.Note("processor time of Redis", to.cores(from), "cores")
	row.Figures = f.All
	return row, errors.Join(err1, err2)
}

// holder is who has the name for which the others wait, in this process. What it asks
// of Redis about the dead stands in dead.go.
type holder struct {
	store  *rueidisstore.Store
	client *holdfast.Client
	lease  *holdfast.Lease
	raw    rueidis.Client
}

func newHolder(server *redistest.Server, name string) (*holder, error) {
	raw, err := newBulkRueidis(server.Addr())
	if err != nil {
		return nil, err
	}
	h := &holder{store: rueidisstore.New(raw), raw: raw}
	h.client = holdfast.New(h.store, &holdfast.Options{Owner: "holder"})
	if h.lease, err = h.client.Mutex(name).Lock(context.Background()); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *holder) release() error { return h.lease.Release() }

func (h *holder) Close() {
	_ = h.client.Close() // what it holds, nobody else wants any more
	_ = h.store.Close()
	h.raw.Close()
}

// line is the labels of those who wait, in their order: what stands behind the
// bar of an id.
func (h *holder) line(name string) ([]string, error) {
	queue := fmt.Sprintf("holdfast/queue:{%s%s}", holdfast.DefaultPrefix, name)
	ids, err := h.raw.Do(context.Background(), h.raw.B().Zrange().Key(queue).Min("0").Max("-1").Build()).AsStrSlice()
	for i, id := range ids {
		_, ids[i], _ = strings.Cut(id, "|")
	}
	return ids, err
}
