package mutation

// The guard of run: it ends a command in time.
var _ = table([]mutation{
	{what: "run: the command is killed before the lease ends", pkg: "./cmd/holdfast/internal/guard", name: "TestLeash",
		in: "cmd/holdfast/internal/guard NewLeash", edits: []string{"left - margin", "left"}},
	{what: "run: grace is at most a third of what is left", pkg: "./cmd/holdfast/internal/guard", name: "TestLeash",
		in: "cmd/holdfast/internal/guard NewLeash", edits: []string{"min(grace, left/3)", "grace"}},
	{what: "run: a leash that is cut gets no longer", pkg: "./cmd/holdfast/internal/guard", name: "TestLeashCut",
		in: "cmd/holdfast/internal/guard Leash.Cut", edits: []string{"kill = min(kill, l.Kill)", "kill = max(kill, 0)"}},
	{what: "run: a command that is stopping gets no more time", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardStopsForGood",
		in: "cmd/holdfast/internal/guard process.obey", edits: []string{"&& !g.asked", ""}},
	{what: "run: an order without meaning ends the orders", pkg: "./cmd/holdfast/internal/guard", name: "TestOrders",
		in: "cmd/holdfast/internal/guard inbox.take", edits: []string{"if err != nil { in.ended = true; break }; in.begun, orders = rest, append(orders, o)", "if err != nil { in.begun = rest; continue }; in.begun, orders = rest, append(orders, o)"}},
	{what: "run: a late guard takes all its orders before it stops the command", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardThatIsLateTakesItsOrders",
		in: "cmd/holdfast/internal/guard process.poll", edits: []string{"for _, o := range g.orders.take() { g.obey(o)", "for i, o := range g.orders.take() { if i == 0 { g.obey(o) }"}},
	{what: "run: a guard that starts late goes by the newest order", pkg: "./cmd/holdfast/internal/guard", name: "TestGuardStartsByTheNewestOrder",
		in: "cmd/holdfast/internal/guard process.mayStart", edits: []string{"g.leash = o.leash", "g.leash = o.leash; break"}},
})
