// Package workload lists the workloads, and who takes part in each.
package workload

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
)

// Ours are what is compared, one for each client library.
var Ours = []contend.Contender{rivals.HoldfastContender, rivals.HoldfastGoRedisContender}

// peers are what holdfast is compared with.
var peers = []contend.Contender{rivals.RedsyncContender, rivals.RedislockContender, rivals.RueidislockContender, rivals.RueidislockNoLoopContender, rivals.EtcdContender}

// Contenders are all that run in the workloads.
func Contenders() []contend.Contender { return slices.Concat(Ours, peers) }

// ContenderNamed finds a contender or a limit by its name, for the children.
func ContenderNamed(who string) (contend.Contender, bool) {
	all := slices.Concat(Contenders(), familyPeers, limit.Limits)
	i := slices.IndexFunc(all, func(c contend.Contender) bool { return c.Who == who })
	if i < 0 {
		return contend.Contender{}, false
	}
	return all[i], true
}

const workTime = time.Millisecond // of B5

// Workloads in the order in which they run.
var Workloads = []contend.Workload{
	{
		Name: "B1", Says: "own names, 1 caller, context.Background()", Processes: 1, Callers: 1, Names: 512, Close: true,
		Limits: []string{"limit-rueidis", "limit-goredis", "limit-token-rueidis", "limit-token-goredis", "limit-lease-rueidis", "limit-lease-goredis", "limit-ping-rueidis"},
	},
	{
		Name: "B1c", Says: "as B1, with a context that can be cancelled", Processes: 1, Callers: 1, Names: 512, Cancels: true,
		Who:    []string{"holdfast", "holdfast-goredis", "redsync", "redislock", "rueidislock"},
		Limits: []string{"limit-rueidis", "limit-goredis"},
	},
	{
		Name: "B2", Says: "own names, 512 callers", Processes: 1, Callers: 512, Close: true,
		Limits: []string{"limit-rueidis", "limit-goredis", "limit-token-rueidis", "limit-token-goredis", "limit-ping-rueidis"},
	},
	{
		Name: "B3", Says: "one name, 1 process of 64 callers, no work", Processes: 1, Callers: 64, Shared: true,
		Limits: []string{"limit"}, Guard: "limit",
	},
	{
		Name: "B4", Says: "one name, 8 processes of 8 callers, no work", Processes: 8, Callers: 8, Shared: true, Long: true,
		Limits: []string{"limit", "limit-ping-rueidis"}, Guard: "limit-ping-rueidis",
	},
	{
		Name: "B5", Says: "one name, 8 processes of 8 callers, 1 ms of work", Processes: 8, Callers: 8, Shared: true, Long: true, Close: true, Work: workTime,
		Limits: []string{"limit"}, Guard: "limit",
	},
	{
		Name: "B6", Says: "one name, 8 processes of 1 caller, no work", Processes: 8, Callers: 1, Shared: true, Long: true, Handover: true,
		Limits: []string{"limit-queue", "limit-queue-token", "limit-ping-rueidis", "limit-ping-idle"}, Guard: "limit-ping-idle",
	},
	{
		Name: "B7", Says: "one name in a loop, 1 caller, holdfast with Linger", Processes: 1, Callers: 1, Shared: true, Linger: time.Second,
		Limits: []string{"limit"}, Guard: "limit",
	},
}

// BulkWorkload is one that is about numbers: of leases, of who waits, of names,
// of the dead.
type BulkWorkload struct{ Name, What string }

// BulkWorkloads are those of the mutex.
var BulkWorkloads = []BulkWorkload{
	{"B8", "100,000 leases held by one process"},
	{"B9", "100 clients × 100 callers, and 10,000 clients, wait for one name"},
	{"B10", "growth with the number of waiters and of names"},
	{"B11", "10,000 waiters of a killed process in front of a living one"},
}

// FamilyBulk are those of other kinds than the mutex.
var FamilyBulk = []BulkWorkload{
	{"F4", "growth of a semaphore with its holders"},
	{"F5", "1,000 readers of one name in one process"},
	{"F11", "time from a revoke or steal to the holder"},
}

// AllBulk are those of the mutex, then those of the family.
func AllBulk() []BulkWorkload { return slices.Concat(BulkWorkloads, FamilyBulk) }

// Named finds a workload.
func Named(name string) (contend.Workload, bool) {
	all := AllWorkloads()
	i := slices.IndexFunc(all, func(w contend.Workload) bool { return w.Name == name })
	if i < 0 {
		return contend.Workload{}, false
	}
	return all[i], true
}

// AllWorkloads are those of the mutex, then those of the family.
func AllWorkloads() []contend.Workload { return slices.Concat(Workloads, Family) }

// TakePart are those who run a workload, limits last.
func TakePart(w contend.Workload) []contend.Contender {
	all := slices.Clone(w.Own)
	for _, c := range Contenders() {
		if w.Own == nil && (w.Who == nil || slices.Contains(w.Who, c.Who)) {
			all = append(all, c)
		}
	}
	for _, who := range w.Limits {
		if c, ok := ContenderNamed(who); ok {
			all = append(all, c)
		}
	}
	return all
}

// ContenderOf finds who takes part, by name: in the family another is meant by it.
func ContenderOf(w contend.Workload, who string) (contend.Contender, bool) {
	if i := slices.IndexFunc(w.Own, func(c contend.Contender) bool { return c.Who == who }); i >= 0 {
		return w.Own[i], true
	}
	return ContenderNamed(who)
}
