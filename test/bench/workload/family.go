package workload

import (
	"math/rand/v2"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
)

// Family are the workloads of what is not the plain mutex. Most are callers in a
// loop like those of the mutex, with contenders of their own; "wrong" in them is
// more inside than there was room for.
var Family = []contend.Workload{
	{
		Name: "F1", Says: "one election, 4 processes of 1 candidate: campaign and resign in a loop", Processes: 4, Callers: 1, Shared: true, Long: true, Handover: true,
		Own:    []contend.Contender{rivals.HoldfastElection, rivals.EtcdElection},
		Limits: []string{limit.PingBeside}, Guard: limit.PingBeside,
	},
	{
		Name: "F2", Says: "own semaphores of size 4, 1 caller", Processes: 1, Callers: 1, Names: 512, Capacity: rivals.SemaphoreSize,
		Own:    []contend.Contender{rivals.HoldfastSemaphore, rivals.ZsetScript, rivals.ZsetRecipe},
		Limits: []string{"limit-rueidis"},
	},
	{
		Name: "F3", Says: "one semaphore of size 4, 4 processes of 16 callers, 1 ms of work", Processes: 4, Callers: 16, Shared: true, Long: true, Work: workTime, Capacity: rivals.SemaphoreSize,
		Own:    []contend.Contender{rivals.HoldfastSemaphore, rivals.ZsetScript, rivals.ZsetRecipe},
		Limits: []string{"limit"}, Guard: "limit",
	},
	{
		Name: "F3w", Says: "as F3, with 1, 2 and 3 permits in turn", Processes: 4, Callers: 16, Shared: true, Long: true, Work: workTime, Capacity: rivals.SemaphoreSize,
		Weight: func(caller int) int64 { return int64(1 + caller%3) },
		Own:    []contend.Contender{rivals.HoldfastSemaphore},
	},
	{
		Name: "F6", Says: "one reader-writer lock, 4 processes of 8 callers, 1 ms of work, one writer in ten", Processes: 4, Callers: 8, Shared: true, Long: true, Work: workTime, Capacity: rivals.ManyReaders,
		Weight: func(int) int64 {
			if rand.N(10) == 0 {
				return rivals.ManyReaders
			}
			return 1
		},
		Own: []contend.Contender{rivals.HoldfastRWMutex, rivals.EtcdRWMutex},
	},
	{
		Name: "F7", Says: "three free names at once, 1 caller", Processes: 1, Callers: 1, Names: 512,
		Own: []contend.Contender{rivals.HoldfastMulti, rivals.Severally(rivals.RedsyncContender), rivals.Severally(rivals.RedislockContender), rivals.Severally(limit.RueidisLimit)}, Guard: "limit-rueidis",
	},
	{
		Name: "F8", Says: "Once per minute, due each time, 1 caller", Processes: 1, Callers: 1,
		Own: []contend.Contender{rivals.HoldfastOnce, rivals.SetNX(nil)},
	},
	{
		Name: "F8n", Says: "as F8, never due", Processes: 1, Callers: 1,
		Own: []contend.Contender{rivals.HoldfastNotDue, rivals.SetNX(rivals.ErrNotDue)},
	},
	{
		Name: "F9", Says: "MinHold of 1 min, lock and release of free names, 1 caller", Processes: 1, Callers: 1,
		Own: []contend.Contender{rivals.HoldfastMinHold, rivals.SetNX(nil)},
	},
	{
		Name: "F10", Says: "a script that only the holder may run (Lease.Eval), 1 caller", Processes: 1, Callers: 1,
		Own: []contend.Contender{rivals.HoldfastEval, rivals.EvalshaLimit}, Guard: rivals.EvalshaLimit.Who,
	},
}

// familyPeers are those that no workload of the mutex has.
var familyPeers = []contend.Contender{rivals.ZsetScript, rivals.ZsetRecipe, rivals.SetNX(nil)}
