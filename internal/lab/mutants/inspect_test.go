package mutants

// inspectMutants are the guards of what is said of a name: of Survey, Diagnose and
// Details.
var inspectMutants = []mutant{
	{guard: "bounded call: a driver has its time though the caller leaves", file: "internal/call/call.go", pkg: "./internal/lab/many", name: "TestHastyCallers",
		edits: []string{"\t\tctx, cancel := ForDriver(ctx, life)\n\t\tdefer cancel()\n", ""}},
	{guard: "bounded call: the driver of a node has its time", file: "internal/engine/quorum.go", pkg: "./internal/lab/many", name: "TestHastyCallersOfAQuorum",
		edits: []string{"call.ForDriver(ctx, e.ctx)\n\t\tdefer cancel()\n", "context.WithCancel(ctx)\n\t\tdefer cancel()\n\t\t_ = call.ForDriver\n"}},
	{guard: "bounded call: a page of a scan has its time", file: "rueidisstore/scan.go", pkg: "./internal/lab/many", name: "TestHastyCallers",
		edits: []string{"context.WithTimeout(context.WithoutCancel(ctx), pageTimeout)", "context.WithTimeout(ctx, pageTimeout)"}},
	{guard: "bounded call: Close ends calls whose caller has left", file: "internal/call/call.go", pkg: ".", name: "TestCloseEndsCallsLeftBehind",
		edits: []string{"context.AfterFunc(life, cancel)", "context.AfterFunc(context.Background(), cancel)"}},
	{guard: "bounded call: a call does not end with one of its callers", file: "internal/call/call.go", name: "TestOnceEndsBehindClose",
		edits: []string{"stay := context.AfterFunc(ctx, func() {", "stay := context.AfterFunc(life, cancel)\n\t_ = context.AfterFunc(ctx, func() {"}},
	{guard: "bounded call: a call to a node does not end with its caller", file: "internal/majority/majority.go", pkg: ".", name: "TestEndedContextAsksNoNode",
		edits: []string{"if ctx.Err() != nil {", "if false {"}},
	{guard: "bounded call: an ended context starts no call", file: "internal/call/call.go", pkg: ".", name: "TestEndedContextBeginsNothing",
		edits: []string{"\tif ctx.Err() != nil {\n\t\treturn result, ctx.Err()\n\t}\n", ""}},
	{guard: "inspect: a term belongs to the holder", file: "internal/script/mutex/inspect.lua", pkg: "./embedded", name: "TestSurveyOrdersOfOthers",
		edits: []string{"if whose == holder then term_now, value = newest, proclaimed end", "term_now = newest or term_now"}},
	{guard: "inspect: a revocation is about one tenure", file: "internal/script/part/read_revocation.lua", pkg: "./embedded", name: "TestSurveyOrdersOfOthers",
		edits: []string{"if whose and string.sub(whose, 1, #id + 1) == id .. '|' then", "if whose then"}},
	{guard: "details: Close deletes them", file: "internal/details/note.go", pkg: "./embedded", name: "TestDetails",
		edits: []string{"if !n.sent {", "if true {"}},
	{guard: "inspect: the missing right to a shared kind's holders is named", file: "admin/inspection.go", pkg: "./admin", name: "TestInspectAsksForLess",
		edits: []string{"i.call.Script == script.Inspect && wire.Denied", "wire.Denied"}},
	{guard: "details: an inspection does not wait for them", file: "admin/details.go", pkg: "./embedded", name: "TestDetailsKeepNobodyWaiting",
		edits: []string{"ctx, detailsWait, calls)", "ctx, 16*time.Second, calls)"}},
}
