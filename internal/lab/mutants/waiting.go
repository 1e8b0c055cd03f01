package main

// waitingMutants are the guards of the checkers idle and overtaken.
var waitingMutants = []mutant{
	{guard: "idle: a frozen Client costs one claim window, once", file: "internal/lab/waiting/waiting.go", pkg: "./internal/lab/waiting", name: "TestIdle",
		edits: []string{"b.left -= used", "_ = used"}},
	{guard: "idle: the dead that were passed stand in front of nobody", file: "internal/lab/waiting/waiting.go", pkg: "./internal/lab/waiting", name: "TestIdle",
		edits: []string{"!n.passed(o, s.From, abreast)", "true"}},
	{guard: "idle: it counts while the waiter runs", file: "internal/lab/waiting/waiting.go", pkg: "./internal/lab/waiting", name: "TestIdle",
		edits: []string{"if f.To <= s.From || f.From >= s.To {", "if true {"}},
	{guard: "idle: a part that does not fit is not free", file: "internal/lab/waiting/waiting.go", pkg: "./internal/lab/waiting", name: "TestIdle",
		edits: []string{"w.used+most <= w.n.Capacity", "w.used < w.n.Capacity"}},
	{guard: "idle: a process that was stopped tells of no standstill", file: "internal/lab/verify/check/waits.go", pkg: "./internal/lab/verify/check", name: "TestCheckers",
		edits: []string{"if !made {", "if true || made {"}},
	{guard: "idle: judged in simulated time", file: "internal/lab/sim/waits.go", pkg: "./internal/lab/sim", name: "TestCrowdsControl",
		edits: []string{"all.Idle(rules)", "all.Idle(waiting.Rules{Base: time.Hour})"}},
	{guard: "overtaken: by a Client that did not stand in front", file: "internal/lab/waiting/overtaken.go", pkg: "./internal/lab/waiting", name: "TestOvertaken",
		edits: []string{"!n.stood(b.Client, came, abreast)", "false"}},
	{guard: "overtaken: by a caller that came into a tenure that served already", file: "internal/lab/waiting/overtaken.go", pkg: "./internal/lab/waiting", name: "TestOvertaken",
		edits: []string{"b.Asked > tenures[i] || ", ""}},
	{guard: "overtaken: no more than ten grants without a queue", file: "internal/lab/waiting/overtaken.go", pkg: "./internal/lab/waiting", name: "TestOvertaken",
		edits: []string{"grants[b.Client] == most+1", "grants[b.Client] == most+2"}},
}
