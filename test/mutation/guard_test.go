package mutation

// guardMutants are what makes the guard of run end a command in time.
var guardMutants = []mutant{
	{guard: "run: the command is killed before the lease ends", file: "cmd/holdfast/internal/guard/leash.go", pkg: "./cmd/holdfast/internal/guard", name: "TestLeash",
		edits: []string{"kill := now.Add(left - margin)", "kill := now.Add(left)"}},
	{guard: "run: grace is at most a third of what is left", file: "cmd/holdfast/internal/guard/leash.go", pkg: "./cmd/holdfast/internal/guard", name: "TestLeash",
		edits: []string{"-min(grace, left/3)", "-grace"}},
	{guard: "run: a leash that is cut gets no longer", file: "cmd/holdfast/internal/guard/leash.go", pkg: "./cmd/holdfast/internal/guard", name: "TestLeashCut",
		edits: []string{"kill = min(kill, l.Kill)", "kill = max(kill, 0)"}},
	{guard: "run: a command that is stopping gets no more time", file: "cmd/holdfast/internal/guard/guard.go", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardStopsForGood",
		edits: []string{"o.verb == orderHold && !g.asked:", "o.verb == orderHold:"}},
	{guard: "run: an order without meaning ends the orders", file: "cmd/holdfast/internal/guard/orders.go", pkg: "./cmd/holdfast/internal/guard", name: "TestOrders",
		edits: []string{"\t\t\t\tin.ended = true\n\t\t\t\tbreak\n", "\t\t\t\tin.begun = rest\n\t\t\t\tcontinue\n"}},
	{guard: "run: a late guard takes all its orders before it stops the command", file: "cmd/holdfast/internal/guard/guard.go", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardThatIsLateTakesItsOrders",
		edits: []string{"for _, o := range g.orders.take() {\n\t\tg.obey(o)", "for i, o := range g.orders.take() {\n\t\tif i == 0 {\n\t\t\tg.obey(o)\n\t\t}"}},
	{guard: "run: a guard that starts late goes by the newest order", file: "cmd/holdfast/internal/guard/guard.go", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardStartsByTheNewestOrder",
		edits: []string{"\t\t\tg.leash = o.leash\n\t\t}\n\t}", "\t\t\tg.leash = o.leash\n\t\t\tbreak\n\t\t}\n\t}"}},
}
