package bulk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
	"github.com/holdfast-go/holdfast/internal/lab/figures"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// inRounds is how fast a crowd is served, and limit-queue-token a crowd of that size,
// in turn; first is how one was served that has waited long.
func (c crowd) inRounds(server *redistest.Server, first service, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	rounds := 2
	if scale == Full {
		rounds = 7
	}
	c.wait = 100 * time.Millisecond
	ways := []*servedWay{
		{who: c.who + ", served", serve: c.serve, judge: c.judge, done: []service{first}},
		{who: "limit-queue-token, as many clients", serve: c.least, judge: c.noteTime},
	}
	for i := range rounds {
		fmt.Fprintf(talk, "bench: B9: %s: round %d of %d\n", c.who, i+1, rounds)
		for _, way := range ways {
			done, err := way.serve(server)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.who, err)
			}
			way.done = append(way.done, done)
		}
	}
	var rows []report.BulkRow
	for _, way := range ways {
		var f report.BulkFigures
		way.judge(&f, way.done)
		rows = append(rows, f.Row("B9", way.who))
	}
	return rows, nil
}

// servedWay is one way to serve a crowd, and how that went in each round.
type servedWay struct {
	who   string
	serve func(*redistest.Server) (service, error)
	judge func(*report.BulkFigures, []service)
	done  []service
}

// service is how a crowd was served.
type service struct {
	served    int
	overtaken int           // served before one who came earlier
	together  int           // served while another still was
	took      time.Duration // from the release to the last one
	ping      time.Duration // in turn, of the limit
}

// judge says how a crowd was served, by the worst of several rounds, but for the time,
// which is that of the middle one.
func (c crowd) judge(f *report.BulkFigures, rounds []service) {
	worst := rounds[0]
	for _, s := range rounds {
		worst.served = min(worst.served, s.served)
		worst.overtaken = max(worst.overtaken, s.overtaken)
		worst.together = max(worst.together, s.together)
	}
	f.AtLeast(float64(c.size()), "callers served", float64(worst.served), "")
	f.AtMost(0, "served before an earlier waiter", float64(worst.overtaken), "")
	f.AtMost(0, "served while another held", float64(worst.together), "")
	f.AtMost(1, "last waiter served after the release", figures.Median(seconds(rounds)), "s")
	c.noteRounds(f, seconds(rounds))
}

// noteTime is judge for what promises nothing.
func (c crowd) noteTime(f *report.BulkFigures, rounds []service) {
	f.Note("last waiter served after the release", figures.Median(seconds(rounds)), "s")
	c.noteRounds(f, seconds(rounds))
	var pings []float64
	for _, s := range rounds {
		pings = append(pings, float64(s.ping.Nanoseconds())/1e3)
	}
	f.Note("a PING in turn, on the same connection", figures.Median(pings), "µs")
}

func (c crowd) noteRounds(f *report.BulkFigures, took []float64) {
	if len(took) > 1 {
		f.Note(fmt.Sprintf("in the fastest of %d rounds", len(took)), slices.Min(took), "s")
		f.Note("in the slowest", slices.Max(took), "s")
	}
	f.Note("a hand-over from client to client", figures.Median(took)*1e6/float64(c.processes*c.clients), "µs")
}

func seconds(rounds []service) (took []float64) {
	for _, s := range rounds {
		took = append(took, s.took.Seconds())
	}
	return took
}

// serve is how a crowd is served that has only just come.
func (c crowd) serve(server *redistest.Server) (service, error) {
	return c.stand(server, func(bulkChildren, float64, queueMemory) error { return nil })
}

// release lets them go.
func (c crowd) release(all bulkChildren, holder *holder, order []string) (service, error) {
	released := time.Now().UnixNano()
	if err := holder.release(); err != nil {
		return service{}, err
	}
	each, err := askAll[[]*servedCaller](all, "served")
	if err != nil {
		return service{}, err
	}
	served := slices.Concat(each...)
	for _, s := range served {
		if s.Failure != "" {
			return service{}, errors.New(s.Failure)
		}
	}
	slices.SortFunc(served, func(a, b *servedCaller) int { return cmp.Compare(a.Token, b.Token) })
	place := map[string]int{}
	for i, owner := range order {
		place[owner] = i
	}
	done, last := service{served: len(served)}, int64(0)
	for i, s := range served {
		last = max(last, s.At)
		if i > 0 && served[i-1].place(place) >= s.place(place) {
			done.overtaken++
		}
		if i > 0 && served[i-1].Until > s.At {
			done.together++
		}
	}
	done.took = time.Duration(last - released)
	return done, nil
}

// least is how limit-queue-token serves as many.
func (c crowd) least(server *redistest.Server) (service, error) {
	all, err := c.start(server, "line", "bench:least")
	defer all.end()
	if err != nil {
		return service{}, err
	}
	done, err := askAll[lineDone](all, "go")
	if err != nil {
		return service{}, err
	}
	return service{took: done[0].Took, ping: done[0].Ping}, nil
}

// servedCaller is what is heard of a waitingCaller.
type servedCaller struct {
	Client, Caller int
	At, Until      int64 // when it was granted, and was about to give it back, ns since 1970
	Token          int64
	Failure        string
}

// place is where it stood: the client's place in the line, then the caller's
// among those of the client.
func (s *servedCaller) place(clients map[string]int) int {
	return clients[fmt.Sprintf("bench-%d", s.Client)]<<20 | s.Caller
}
