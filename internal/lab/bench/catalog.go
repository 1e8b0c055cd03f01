package bench

import (
	"slices"
	"time"
)

// ours are what is compared, one for each client library.
var ours = []contender{holdfastContender, holdfastGoRedisContender}

// peers are what holdfast is compared with.
var peers = []contender{redsyncContender, redislockContender, rueidislockContender, rueidislockNoLoopContender, etcdContender}

// contenders are all that run in the workloads.
func contenders() []contender { return slices.Concat(ours, peers) }

// contenderNamed finds a contender or a limit by its name, for the children.
func contenderNamed(who string) (contender, bool) {
	all := slices.Concat(contenders(), familyPeers, limits)
	i := slices.IndexFunc(all, func(c contender) bool { return c.who == who })
	if i < 0 {
		return contender{}, false
	}
	return all[i], true
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

// bulkWorkload is one that is about numbers: of leases, of who waits, of names,
// of the dead.
type bulkWorkload struct{ name, what string }

var bulkWorkloads = []bulkWorkload{
	{"B8", "100,000 leases held by one process"},
	{"B9", "100 clients × 100 callers, and 10,000 clients, wait for one name"},
	{"B10", "growth with the number of waiters and of names"},
	{"B11", "10,000 waiters of a killed process in front of a living one"},
}

// familyBulk are those of other kinds than the mutex.
var familyBulk = []bulkWorkload{
	{"F4", "growth of a semaphore with its holders"},
	{"F5", "1,000 readers of one name in one process"},
	{"F11", "time from a revoke or steal to the holder"},
}

// allBulk are those of the mutex, then those of the family.
func allBulk() []bulkWorkload { return slices.Concat(bulkWorkloads, familyBulk) }

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

// takePart are those who run a workload, limits last.
func takePart(w workload) []contender {
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

// contenderOf finds who takes part, by name: in the family another is meant by it.
func contenderOf(w workload, who string) (contender, bool) {
	if i := slices.IndexFunc(w.own, func(c contender) bool { return c.who == who }); i >= 0 {
		return w.own[i], true
	}
	return contenderNamed(who)
}
