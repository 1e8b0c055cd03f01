package mutants

// inspectMutants are the guards of what is said of a name: of Survey, Diagnose and
// Details.
var inspectMutants = []mutant{
	{guard: "within: a driver has its time, however soon the caller leaves", file: "internal/call/call.go", pkg: "./internal/lab/many", name: "TestHastyCallers",
		edits: []string{"\t\tctx, cancel := ForDriver(ctx, life)\n\t\tdefer cancel()\n", ""}},
	{guard: "within: so has the driver of a node", file: "internal/engine/quorum.go", pkg: "./internal/lab/many", name: "TestHastyCallersOfAQuorum",
		edits: []string{"call.ForDriver(ctx, e.ctx)\n\t\tdefer cancel()\n", "context.WithCancel(ctx)\n\t\tdefer cancel()\n\t\t_ = call.ForDriver\n"}},
	{guard: "within: so has a page of a scan", file: "rueidisstore/scan.go", pkg: "./internal/lab/many", name: "TestHastyCallers",
		edits: []string{"context.WithTimeout(context.WithoutCancel(ctx), pageTimeout)", "context.WithTimeout(ctx, pageTimeout)"}},
	{guard: "within: what goes on behind its caller ends with the Client", file: "internal/call/call.go", pkg: ".", name: "TestCloseEndsCallsLeftBehind",
		edits: []string{"context.AfterFunc(life, cancel)", "context.AfterFunc(context.Background(), cancel)"}},
	{guard: "within: and not with a caller that waits", file: "internal/call/call.go", name: "TestOnceEndsBehindClose",
		edits: []string{"stay := context.AfterFunc(ctx, func() {", "stay := context.AfterFunc(life, cancel)\n\t_ = context.AfterFunc(ctx, func() {"}},
	{guard: "within: nor asks a node", file: "internal/majority/majority.go", pkg: ".", name: "TestEndedContextAsksNoNode",
		edits: []string{"if ctx.Err() != nil {", "if false {"}},
	{guard: "within: one that has ended begins nothing", file: "internal/call/call.go", pkg: ".", name: "TestEndedContextBeginsNothing",
		edits: []string{"\tif ctx.Err() != nil {\n\t\treturn result, ctx.Err()\n\t}\n", ""}},
	{guard: "inspect: a term is its leader's", file: "internal/script/mutex/inspect.lua", pkg: "./embedded", name: "TestSurveyOrdersOfOthers",
		edits: []string{"if whose == holder then term_now, value = newest, proclaimed end", "term_now = newest or term_now"}},
	{guard: "inspect: an order is about one tenure", file: "internal/script/part/read_revocation.lua", pkg: "./embedded", name: "TestSurveyOrdersOfOthers",
		edits: []string{"if whose and string.sub(whose, 1, #id + 1) == id .. '|' then", "if whose then"}},
	{guard: "details: Close takes them away", file: "internal/details/note.go", pkg: "./embedded", name: "TestDetails",
		edits: []string{"if !n.sent {", "if true {"}},
	{guard: "inspect: the missing right to a shared kind's holders is named", file: "admin/inspection.go", pkg: "./admin", name: "TestInspectAsksForLess",
		edits: []string{"i.call.Script == script.Inspect && wire.Denied", "wire.Denied"}},
	{guard: "details: no look waits for them", file: "admin/details.go", pkg: "./embedded", name: "TestDetailsKeepNobodyWaiting",
		edits: []string{"ctx, detailsWait, calls)", "ctx, time.Hour, calls)"}},
}
