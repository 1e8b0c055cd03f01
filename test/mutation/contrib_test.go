package mutation

// contribMutants are the guards of what fits holdfast to schedulers.
var contribMutants = []mutant{
	{guard: "cron: one run of a job waits at a time", file: "contrib/cronlock/cronlock.go", pkg: "./contrib/cronlock", name: "TestOneRunWaits",
		edits: []string{"!waits.CompareAndSwap(false, true)", "false"}},
	{guard: "cron: the next tick may wait after a wait", file: "contrib/cronlock/cronlock.go", pkg: "./contrib/cronlock", name: "TestAfterAWaitTheNextWaits",
		edits: []string{"			waits.Store(false)\n", ""}},
	{guard: "cron: a wait is bounded", file: "contrib/cronlock/cronlock.go", pkg: "./contrib/cronlock", name: "TestStopEndsWhileTheNameIsHeld",
		edits: []string{"o.Wait = DefaultWait", "o.Wait = -1"}},
	{guard: "gocron: MinHold keeps the name after a crash", file: "contrib/gocronlock/locker.go", pkg: "./test/process", name: "TestProcessTickKilled",
		edits: []string{"	mutex.MinHold = max(l.options.MinHold, 0)\n", ""}},
	{guard: "cron: MinHold keeps the name after a crash", file: "contrib/cronlock/cronlock.go", pkg: "./test/process", name: "TestProcessTickKilled",
		edits: []string{"	m.MinHold = max(m.MinHold, o.MinHold)\n", ""}},
}
