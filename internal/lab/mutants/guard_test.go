package mutants

// guardMutants are what makes the guard of run end a command in time.
var guardMutants = []mutant{
	{guard: "run: the command is killed before the lease ends", file: "cmd/holdfast/internal/guard/leash.go", pkg: "./cmd/holdfast/internal/guard", name: "TestLeash",
		edits: []string{"kill := now.Add(left - margin)", "kill := now.Add(left)"}},
	{guard: "run: grace is at most a third of what is left", file: "cmd/holdfast/internal/guard/leash.go", pkg: "./cmd/holdfast/internal/guard", name: "TestLeash",
		edits: []string{"-min(grace, left/3)", "-grace"}},
	{guard: "run: a leash that is cut gets no longer", file: "cmd/holdfast/internal/guard/leash.go", pkg: "./cmd/holdfast/internal/guard", name: "TestLeashCut",
		edits: []string{"kill = min(kill, l.Kill)", "kill = max(kill, 0)"}},
	{guard: "run: a command that was asked to stop gets no more time", file: "cmd/holdfast/internal/guard/guard.go", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardStopsForGood",
		edits: []string{"o.verb == orderHold && !g.asked:", "o.verb == orderHold:"}},
	{guard: "run: what makes no sense ends the orders", file: "cmd/holdfast/internal/guard/orders.go", pkg: "./cmd/holdfast/internal/guard", name: "TestOrders",
		edits: []string{"\t\t\t\treturn\n", "\t\t\t\tcontinue\n"}},
}
