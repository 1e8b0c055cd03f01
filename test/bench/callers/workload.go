// Package callers measures callers in a loop: lock, work, release, again. One run is one
// contender in one workload. It has processes of its own, so that nothing which one contender
// left behind weighs on the next.
package callers

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/rivals"
)

// Workload is what callers do.
type Workload struct {
	Name      string // B1
	Says      string // for people
	Processes int    // 0 is 1
	Callers   int    // in each process; 0 is 1
	Shared    bool   // all want one name; else each has names of its own
	Names     int    // that each caller goes through, one after the other; 0 is 1
	Work      time.Duration
	Linger    time.Duration // holdfast's Options.Linger
	Cancels   bool          // lock with a ctx that can be cancelled; only for names of their own
	Handover  bool          // also measure from a release to the grant in another process
	Twice     bool          // the window is twice as long: starvation shows late
	Close     bool          // twice the rounds: contenders differ by less than rounds do
	Limit     string        // that -check divides by; empty: that of the client library
	Capacity  int64         // how many may hold a name at once; 0 is 1
	Who       []rivals.Contender
}

// For is the workload as a contender runs it.
func (w Workload) For(c rivals.Contender) Workload {
	if c.Alone {
		w.Processes, w.Callers = 1, 1
	}
	w.Processes, w.Callers, w.Names, w.Capacity = max(w.Processes, 1), max(w.Callers, 1), max(w.Names, 1), max(w.Capacity, 1)
	return w
}

// Find returns a workload and one of its contenders.
func Find(workload, who string) (Workload, rivals.Contender, bool) {
	for _, w := range Workloads {
		for _, c := range w.Who {
			if w.Name == workload && c.Name == who {
				return w, c, true
			}
		}
	}
	return Workload{}, rivals.Contender{}, false
}

// mutexes run in the workloads of the mutex.
var mutexes = []rivals.Contender{
	rivals.Holdfast, rivals.HoldfastGoRedis, rivals.Redsync, rivals.Redislock, rivals.Rueidislock, rivals.RueidislockNoLoop,
}

// and adds contenders.
func and(more ...rivals.Contender) []rivals.Contender { return slices.Concat(mutexes, more) }

var minimal = slices.Concat(rivals.SetLimits, rivals.FloorLimits, []rivals.Contender{rivals.PingLimit})

// Workloads in the order in which they run. B is the mutex, F are the other kinds.
var Workloads = []Workload{
	{Name: "B1", Says: "own names, 1 caller", Names: 512, Close: true, Who: and(minimal...)},
	{
		Name: "B1c", Says: "own names, 1 caller, a context that can be cancelled", Names: 512, Cancels: true, Close: true,
		Who: slices.Concat([]rivals.Contender{
			rivals.Holdfast, rivals.HoldfastGoRedis, rivals.HoldfastPlain, rivals.Redsync, rivals.Redislock, rivals.RedislockPlain, rivals.Rueidislock,
		}, rivals.SetLimits, rivals.FloorLimits),
	},
	{Name: "B2", Says: "own names, 512 callers", Callers: 512, Close: true, Who: and(minimal...)},
	{Name: "B3", Says: "one name, 1 process of 64 callers", Callers: 64, Shared: true, Limit: "limit", Who: and(rivals.LoopLimit)},
	{
		Name: "B4", Says: "one name, 8 processes of 8 callers", Processes: 8, Callers: 8, Shared: true, Twice: true,
		Limit: "limit-ping-rueidis", Who: and(rivals.LoopLimit, rivals.PingLimit, rivals.QueueLimit),
	},
	{
		Name: "B5", Says: "one name, 8 processes of 8 callers, 1 ms of work", Processes: 8, Callers: 8, Shared: true, Twice: true, Close: true,
		Work: time.Millisecond, Limit: "limit", Who: and(rivals.LoopLimit),
	},
	{
		Name: "B6", Says: "one name, 8 processes of 1 caller", Processes: 8, Shared: true, Twice: true, Handover: true,
		Limit: "limit-ping-idle", Who: and(rivals.QueueLimit, rivals.PingLimit, rivals.PingIdleLimit),
	},
	{Name: "B7", Says: "one name in a loop, 1 caller, holdfast with Linger", Shared: true, Linger: time.Second, Limit: "limit", Who: and(rivals.LoopLimit)},
	{
		Name: "F1", Says: "one election, 4 processes of 1 candidate", Processes: 4, Shared: true, Twice: true, Handover: true,
		Limit: "limit-ping-idle", Who: []rivals.Contender{rivals.HoldfastElection, rivals.PingIdleLimit},
	},
	{
		Name: "F2", Says: "own semaphores of 4 permits, 1 caller", Names: 512, Capacity: rivals.SemaphoreSize,
		Who: []rivals.Contender{rivals.HoldfastSemaphore, rivals.ZsetScript, rivals.SetLimits[0]},
	},
	{
		Name: "F3", Says: "one semaphore of 4 permits, 4 processes of 16 callers, 1 ms of work", Processes: 4, Callers: 16, Shared: true, Twice: true,
		Work: time.Millisecond, Capacity: rivals.SemaphoreSize, Limit: "limit",
		Who: []rivals.Contender{rivals.HoldfastSemaphore, rivals.ZsetScript, rivals.LoopLimit},
	},
	{Name: "F8", Says: "Once per minute, due each time, 1 caller", Who: []rivals.Contender{rivals.HoldfastOnce, rivals.SetNX}},
	{Name: "F8n", Says: "Once per minute, never due, 1 caller", Who: []rivals.Contender{rivals.HoldfastNotDue, rivals.SetNXNotDue}},
}
