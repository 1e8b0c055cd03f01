package bench

import (
	"slices"
	"time"
)

// workload is what callers do. Callers of a shared name contend; otherwise each
// has names to itself.
type workload struct {
	name      string // B1
	says      string // for people
	processes int
	callers   int // in each process
	shared    bool
	names     int           // that each caller goes through, one after the other; 0 is 1
	work      time.Duration // slept while the lock is held
	linger    time.Duration // holdfast's Options.Linger
	cancels   bool          // names of its own: under a context that can be cancelled, not context.Background()
	handover  bool          // measure from a release to the grant in another process
	long      bool          // twice the window: who starves is seen late
	close     bool          // twice the rounds: what is compared differs by less than one round from the next
	limits    []string      // the rows of limits beside it
	guard     string        // the limit that -check divides by; empty: that of the contender's own client library

	// What a name of the family has, of which each holder takes a part; 0 is 1, and
	// a holder is alone.
	capacity int64
	weight   func(caller int) int64 // nil: 1

	// rest is for what needs another shape altogether: who takes part, and what
	// measures a cell. nil: all contenders, in processes of callers.
	who     []string
	own     []contender // who takes part in a workload of the family, limits aside
	measure func(c *cell) (Row, error)
	once    bool // in the first round only
}

const workTime = time.Millisecond // of B5

// workloads in the order in which they run.
var workloads = []workload{
	{
		name: "B1", says: "own names, 1 caller, context.Background()", processes: 1, callers: 1, names: 512, close: true,
		limits: []string{"limit-rueidis", "limit-goredis", "limit-token-rueidis", "limit-token-goredis", "limit-lease-rueidis", "limit-lease-goredis", "limit-ping-rueidis", "limit-ping-goredis", "limit-redis-benchmark"},
	},
	{
		name: "B1c", says: "as B1, with a context that can be cancelled", processes: 1, callers: 1, names: 512, cancels: true,
		who:    []string{"holdfast", "holdfast-goredis", "redsync", "redislock", "rueidislock"},
		limits: []string{"limit-rueidis", "limit-goredis"},
	},
	{
		name: "B2", says: "own names, 512 callers", processes: 1, callers: 512, close: true,
		limits: []string{"limit-rueidis", "limit-goredis", "limit-token-rueidis", "limit-token-goredis", "limit-token-together", "limit-ping-rueidis", "limit-ping-goredis", "limit-redis-benchmark"},
	},
	{
		name: "B3", says: "one name, 1 process of 64 callers, no work", processes: 1, callers: 64, shared: true,
		limits: []string{"limit"}, guard: "limit",
	},
	{
		name: "B4", says: "one name, 8 processes of 8 callers, no work", processes: 8, callers: 8, shared: true, long: true,
		limits: []string{"limit", "limit-turns", "limit-ping-rueidis"}, guard: "limit-ping-rueidis",
	},
	{
		name: "B5", says: "one name, 8 processes of 8 callers, 1 ms of work", processes: 8, callers: 8, shared: true, long: true, close: true, work: workTime,
		limits: []string{"limit", "limit-turns", "limit-turns-token"}, guard: "limit",
	},
	{
		name: "B6", says: "one name, 8 processes of 1 caller, no work", processes: 8, callers: 1, shared: true, long: true, handover: true,
		limits: []string{"limit-push", "limit-push-script", "limit-queue", "limit-queue-token", "limit-ping-rueidis", "limit-ping-idle"}, guard: "limit-ping-idle",
	},
	{
		name: "B7", says: "one name in a loop, 1 caller, holdfast with Linger", processes: 1, callers: 1, shared: true, linger: time.Second,
		limits: []string{"limit"}, guard: "limit",
	},
}

func workloadNamed(name string) (workload, bool) {
	all := allWorkloads()
	i := slices.IndexFunc(all, func(w workload) bool { return w.name == name })
	if i < 0 {
		return workload{}, false
	}
	return all[i], true
}

// allWorkloads are those of the mutex, then those of the family.
func allWorkloads() []workload { return slices.Concat(workloads, family) }

// runs are those who take part, limits last.
func (w workload) runs() []contender {
	all := slices.Clone(w.own)
	for _, c := range contenders() {
		if w.own == nil && (w.who == nil || slices.Contains(w.who, c.who)) {
			all = append(all, c)
		}
	}
	for _, who := range w.limits {
		if c, ok := contenderNamed(who); ok {
			all = append(all, c)
		}
	}
	return all
}

// contender finds who takes part, by name: in the family another is meant by it.
func (w workload) contender(who string) (contender, bool) {
	if i := slices.IndexFunc(w.own, func(c contender) bool { return c.who == who }); i >= 0 {
		return w.own[i], true
	}
	return contenderNamed(who)
}

// part is what a caller asks for next.
func (w workload) part(caller int) part {
	p := part{1, max(w.capacity, 1)}
	if w.weight != nil {
		p.weight = w.weight(caller)
	}
	return p
}

// of is the workload as this contender runs it.
func (w workload) of(c contender) workload {
	if c.alone {
		w.processes, w.callers = 1, 1
	}
	w.names = max(w.names, 1)
	return w
}

// settings are those of the run as a whole.
type settings struct {
	rounds int
	timing timing
}

// of is how many rounds of this workload there are.
func (s settings) of(w workload) int {
	if w.close && s.rounds > 1 {
		return 2 * s.rounds
	}
	return s.rounds
}

// timing is how a cell's time is spent: first the callers run unmeasured, then
// comes the window, then they run on so that its end is like its middle.
type timing struct{ Warm, Window, Cool time.Duration }

// of is the timing in this workload.
func (t timing) of(w workload) timing {
	if w.long {
		t.Window *= 2
	}
	return t
}

var (
	full  = settings{rounds: 7, timing: timing{Warm: 250 * time.Millisecond, Window: 700 * time.Millisecond, Cool: 50 * time.Millisecond}}
	quick = settings{rounds: 1, timing: timing{Warm: 30 * time.Millisecond, Window: 60 * time.Millisecond, Cool: 10 * time.Millisecond}}
)
