package bench

import "math/rand/v2"

// family are the workloads of what is not the plain mutex. Most are callers in a
// loop like those of the mutex, with contenders of their own; "wrong" in them is
// more inside than there was room for.
var family = []workload{
	{
		name: "F1", says: "one election, 4 processes of 1 candidate: campaign and resign in a loop", processes: 4, callers: 1, shared: true, long: true, handover: true,
		own:    []contender{holdfastElection, etcdElection},
		limits: []string{pingBeside}, guard: pingBeside,
	},
	{
		name: "F2", says: "own semaphores of size 4, 1 caller", processes: 1, callers: 1, names: 512, capacity: semaphoreSize,
		own:    []contender{holdfastSemaphore, zsetScript, zsetRecipe},
		limits: []string{"limit-rueidis"},
	},
	{
		name: "F3", says: "one semaphore of size 4, 4 processes of 16 callers, 1 ms of work", processes: 4, callers: 16, shared: true, long: true, work: workTime, capacity: semaphoreSize,
		own:    []contender{holdfastSemaphore, zsetScript, zsetRecipe},
		limits: []string{"limit"}, guard: "limit",
	},
	{
		name: "F3w", says: "as F3, with 1, 2 and 3 permits in turn", processes: 4, callers: 16, shared: true, long: true, work: workTime, capacity: semaphoreSize,
		weight: func(caller int) int64 { return int64(1 + caller%3) },
		own:    []contender{holdfastSemaphore},
	},
	{
		name: "F6", says: "one reader-writer lock, 4 processes of 8 callers, 1 ms of work, one writer in ten", processes: 4, callers: 8, shared: true, long: true, work: workTime, capacity: manyReaders,
		weight: func(int) int64 {
			if rand.N(10) == 0 {
				return manyReaders
			}
			return 1
		},
		own: []contender{holdfastRWMutex, etcdRWMutex},
	},
	{
		name: "F7", says: "three free names at once, 1 caller", processes: 1, callers: 1, names: 512,
		own: []contender{holdfastMulti, severally(redsyncContender), severally(redislockContender), severally(rueidisLimit)}, guard: "limit-rueidis",
	},
	{
		name: "F8", says: "Once per minute, due each time, 1 caller", processes: 1, callers: 1,
		own: []contender{holdfastOnce, setNX(nil)},
	},
	{
		name: "F8n", says: "as F8, never due", processes: 1, callers: 1,
		own: []contender{holdfastNotDue, setNX(errNotDue)},
	},
	{
		name: "F9", says: "MinHold of 1 min, lock and release of free names, 1 caller", processes: 1, callers: 1,
		own: []contender{holdfastMinHold, setNX(nil)},
	},
	{
		name: "F10", says: "a script that only the holder may run (Lease.Eval), 1 caller", processes: 1, callers: 1,
		own: []contender{holdfastEval, evalshaLimit}, guard: evalshaLimit.who,
	},
}

// familyPeers are those that no workload of the mutex has.
var familyPeers = []contender{zsetScript, zsetRecipe, setNX(nil)}
