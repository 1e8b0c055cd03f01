package bulk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
	"github.com/holdfast-go/holdfast/test/support/figures"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// waiters is the waiters of one name: a number of clients in a number of processes.
type waiters struct {
	who       string
	processes int
	clients   int // of a process
	callers   int // of a client
	shared    bool
	wait      time.Duration // how long they all wait
}

func (c waiters) size() int { return c.processes * c.clients * c.callers }

// waitersInBulk is B9: very many wait for one name, which must cost Redis and
// their processes little, and go fast when it is released.
func waitersInBulk(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	callers := waiters{"holdfast", 2, 5, 10, false, 100 * time.Millisecond}
	clients := waiters{"holdfast, a client each", 1, 300, 1, true, 100 * time.Millisecond}
	rounds := 2
	if scale == Full {
		callers = waiters{"holdfast", 10, 10, 100, false, time.Minute}
		clients = waiters{"holdfast, a client each", 1, 10_000, 1, true, time.Minute}
		rounds = 7
	}
	var rows []report.BulkRow
	for _, c := range []waiters{callers, clients} {
		fmt.Fprintf(talk, "bench: B9: %s: %d callers wait for %v\n", c.who, c.size(), c.wait)
		var f report.BulkFigures
		done, err := c.serve(server, &f)
		if err != nil {
			return rows, err
		}
		if !c.shared {
			c.check(&f, []service{done})
			rows = append(rows, f.Row("B9", c.who))
			continue
		}
		served, err := c.inRounds(server, done, rounds, talk)
		if err != nil {
			return rows, err
		}
		rows = append(append(rows, f.Row("B9", c.who)), served...)
	}
	callers.who, callers.wait = "redsync, its defaults", min(callers.wait, 5*time.Second)
	row, err := callers.polling(server)
	return append(rows, row), err
}

// start starts the processes, each with the job.
func (c waiters) start(server *redistest.Server, job, name string) (children, error) {
	var all children
	for i := range c.processes {
		one, err := start(order{
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

// serve makes a crowd wait for a name and then releases the name. It notes in f what that
// costs, unless f is nil.
func (c waiters) serve(server *redistest.Server, f *report.BulkFigures) (service, error) {
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
	order, err := c.enter(all, holder, name)
	if err != nil {
		return service{}, err
	}
	first, err := askAll[float64](all, "memory")
	if err != nil {
		return service{}, err
	}
	if _, err := askAll[any](all, "rest"); err != nil {
		return service{}, err
	}
	if f != nil {
		if err := c.whileTheyWait(f, server, all, sum(first)); err != nil {
			return service{}, err
		}
	}
	return c.release(all, holder, order)
}

// enter opens the clients, lets the first caller of each in, and returns the clients in
// the order of the queue.
func (c waiters) enter(all children, holder *holder, name string) (queue []string, err error) {
	for _, word := range []string{"open", "first"} {
		if _, err := askAll[any](all, word); err != nil {
			return nil, err
		}
	}
	return queue, untilSo("not all clients are in the queue", func() (bool, error) {
		queue, err = holder.queue(name)
		return len(queue) == c.processes*c.clients, err
	})
}

// whileTheyWait notes what clients send meanwhile. A ping of rueidisstore is a SUBSCRIBE
// of what is subscribed. The first caller of each client makes it open a connection; the
// others join it.
func (c waiters) whileTheyWait(f *report.BulkFigures, server *redistest.Server, all children, first float64) error {
	from, err1 := scenario.Look(server)
	time.Sleep(c.wait)
	to, err2 := scenario.Look(server)
	used, err3 := askAll[float64](all, "memory")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	f.Note("callers that wait", float64(c.size()), "")
	if c.shared {
		f.AtMost(100, "commands for the queue", to.PerSecond(from, "evalsha", "eval"), "/s")
		return nil
	}
	f.AtMost(30, "commands of holdfast", to.PerSecond(from, "evalsha", "eval", "subscribe"), "/s")
	f.AtMost(2048, "heap for each further caller", (sum(used)-first)/float64(c.size()-c.processes*c.clients), "B")
	return nil
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// service is how a crowd was served.
type service struct {
	served    int
	overtaken int     // served before one who came earlier
	together  int     // served while another still was
	took      float64 // seconds from the release to the last one
}

// release releases the name and measures how the crowd is served.
func (c waiters) release(all children, holder *holder, order []string) (service, error) {
	released := time.Now().UnixNano()
	if err := holder.release(); err != nil {
		return service{}, err
	}
	each, err := askAll[[]servedCaller](all, "served")
	if err != nil {
		return service{}, err
	}
	served := slices.Concat(each...)
	slices.SortFunc(served, func(a, b servedCaller) int { return cmp.Compare(a.Token, b.Token) })
	place := map[string]int{} // of a client in the queue
	for i, owner := range order {
		place[owner] = i
	}
	done, last := service{served: len(served)}, int64(0)
	before := -1
	for i, s := range served {
		last = max(last, s.At)
		own := place[fmt.Sprintf("bench-%d", s.Client)]<<20 | s.Caller
		if own <= before {
			done.overtaken++
		}
		before = own
		if i > 0 && served[i-1].Until > s.At {
			done.together++
		}
	}
	done.took = time.Duration(last - released).Seconds()
	return done, nil
}

// lastServed is the figure of the time.
const lastServed = "last waiter served after the release"

// check notes how a crowd was served: the worst of several rounds, and the median of the times.
func (c waiters) check(f *report.BulkFigures, rounds []service) {
	worst := rounds[0]
	var took []float64
	for _, s := range rounds {
		worst.served = min(worst.served, s.served)
		worst.overtaken = max(worst.overtaken, s.overtaken)
		worst.together = max(worst.together, s.together)
		took = append(took, s.took)
	}
	f.AtLeast(float64(c.size()), "callers served", float64(worst.served), "")
	f.AtMost(0, "served before an earlier waiter", float64(worst.overtaken), "")
	f.AtMost(0, "served while another held", float64(worst.together), "")
	f.AtMost(1, lastServed, figures.Median(took), "s")
}

// inRounds measures in turn how fast a crowd is served, and a crowd of limit-queue-token of the
// same size. first is how a crowd was served that had waited long.
func (c waiters) inRounds(server *redistest.Server, first service, rounds int, talk io.Writer) ([]report.BulkRow, error) {
	c.wait = 100 * time.Millisecond
	done := []service{first}
	var least []float64
	for i := range rounds {
		fmt.Fprintf(talk, "bench: B9: %s: round %d of %d\n", c.who, i+1, rounds)
		served, err := c.serve(server, nil)
		if err != nil {
			return nil, err
		}
		took, err := c.limit(server)
		if err != nil {
			return nil, fmt.Errorf("limit-queue-token: %w", err)
		}
		done, least = append(done, served), append(least, took)
	}
	var own, limit report.BulkFigures
	c.check(&own, done)
	limit.Note(lastServed, figures.Median(least), "s")
	return []report.BulkRow{own.Row("B9", c.who+", served"), limit.Row("B9", "limit-queue-token, as many clients")}, nil
}

// limit returns in how many seconds limit-queue-token serves a crowd of this size.
func (c waiters) limit(server *redistest.Server) (float64, error) {
	all, err := c.start(server, "line", "bench:least")
	defer all.end()
	if err != nil {
		return 0, err
	}
	took, err := askAll[time.Duration](all, "go")
	if err != nil {
		return 0, err
	}
	return took[0].Seconds(), nil
}

// polling lets as many callers poll.
func (c waiters) polling(server *redistest.Server) (report.BulkRow, error) {
	const name = "bench:polled"
	var f report.BulkFigures
	if _, err := server.Do("SET", name, "held"); err != nil {
		return f.Row("B9", c.who), err
	}
	all, err := c.start(server, "poll", name)
	defer all.end()
	if err != nil {
		return f.Row("B9", c.who), err
	}
	if _, err := askAll[any](all, "wait"); err != nil {
		return f.Row("B9", c.who), err
	}
	time.Sleep(c.wait / 2) // until their connections are made
	from, err1 := scenario.Look(server)
	time.Sleep(c.wait)
	to, err2 := scenario.Look(server)
	f.Note("callers that wait", float64(c.size()), "")
	f.Note("commands", to.PerSecond(from, "set", "evalsha", "eval", "ping"), "/s")
	return f.Row("B9", c.who), errors.Join(err1, err2)
}
