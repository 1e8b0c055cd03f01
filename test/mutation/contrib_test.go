package mutation

// The adapters for schedulers.
var _ = table([]mutation{
	{what: "cron: one run of a job waits at a time", pkg: "./contrib/cronlock", name: "TestOneRunWaits",
		in: "contrib/cronlock DelayIfHeld", edits: []string{"!waits.CompareAndSwap(false, true)", "false"}},
	{what: "cron: the next tick may wait after a wait", pkg: "./contrib/cronlock", name: "TestAfterAWaitTheNextWaits",
		in: "contrib/cronlock DelayIfHeld", edits: []string{"waits.Store(false)", ""}},
	{what: "cron: a wait is bounded", pkg: "./contrib/cronlock", name: "TestStopEndsWhileTheNameIsHeld",
		in: "contrib/cronlock DelayIfHeld", edits: []string{"o.Wait = DefaultWait", "o.Wait = -1"}},
	{what: "gocron: MinHold keeps the name after a crash", pkg: "./test/process", name: "TestProcessTickKilled",
		in: "contrib/gocronlock lock.begin", edits: []string{"mutex.MinHold = max(l.options.MinHold, 0)", ""}},
	{what: "cron: MinHold keeps the name after a crash", pkg: "./test/process", name: "TestProcessTickKilled",
		in: "contrib/cronlock SkipIfHeld", edits: []string{"m.MinHold = max(m.MinHold, o.MinHold)", ""}},
})
