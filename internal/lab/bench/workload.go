package bench

import "time"

// workload is what callers do. Callers of a shared name contend; otherwise each
// has a name to itself.
type workload struct {
	name      string
	says      string // for people
	processes int
	callers   int // in each process
	shared    bool
	work      time.Duration // slept while the lock is held
	limit     string        // the only one to run it: a limit's name; empty: all contenders
}

func (w workload) runs() []contender {
	if w.limit == "" {
		return contenders()
	}
	c, _ := contenderNamed(w.limit)
	return []contender{c}
}

var workloads = []workload{
	{name: "free-1", says: "uncontended, 1 caller", processes: 1, callers: 1},
	{name: "free-512", says: "uncontended, 512 callers, a name each", processes: 1, callers: 512},
	{name: "one-1x64", says: "one name, 1 process of 64 callers, no work", processes: 1, callers: 64, shared: true},
	{name: "one-1x64-1ms", says: "one name, 1 process of 64 callers, 1 ms of work", processes: 1, callers: 64, shared: true, work: time.Millisecond},
	{name: "one-8x8", says: "one name, 8 processes of 8 callers, no work", processes: 8, callers: 8, shared: true},
	{name: "one-8x8-1ms", says: "one name, 8 processes of 8 callers, 1 ms of work", processes: 8, callers: 8, shared: true, work: time.Millisecond},

	{name: "ping-1", says: "limit: PING, 1 caller", processes: 1, callers: 1, limit: "ping"},
	{name: "ping-512", says: "limit: PING, 512 callers", processes: 1, callers: 512, limit: "ping"},
	{name: "set-1", says: "limit: SET NX, then compare and delete, 1 caller", processes: 1, callers: 1, limit: "set"},
	{name: "set-512", says: "limit: SET NX, then compare and delete, 512 callers", processes: 1, callers: 512, limit: "set"},
	{name: "work-1ms", says: "limit: 1 ms of work again and again, no lock", processes: 1, callers: 1, work: time.Millisecond, limit: "work"},
}

// Settings that the run as a whole has.
type settings struct {
	rounds int
	timing timing
}

// timing is how a cell's time is spent: first the callers run unmeasured, then
// comes the window, then they run on so that its end is like its middle.
type timing struct{ Warm, Window, Cool time.Duration }

var (
	full  = settings{rounds: 5, timing: timing{Warm: 300 * time.Millisecond, Window: 2 * time.Second, Cool: 50 * time.Millisecond}}
	quick = settings{rounds: 1, timing: timing{Warm: 50 * time.Millisecond, Window: 150 * time.Millisecond, Cool: 10 * time.Millisecond}}
)
