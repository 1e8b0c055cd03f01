package mutants

// cliMutants are the guards of the command line.
var cliMutants = []mutant{
	{guard: "acquire: what nobody can read is given back", file: "cmd/holdfast/internal/lease/lease.go", pkg: "./cmd/holdfast", name: "TestAcquireForNobody",
		edits: []string{"client.ReleaseExported(context.Background(), text) == nil && hold", "hold"}},
	{guard: "details: writes do not pile up", file: "details.go", pkg: "./embedded", name: "TestDetailsDoNotPileUp",
		edits: []string{"	if b.due { ", "	if false { "}},
	{guard: "details: what came during a write is written", file: "details.go", pkg: "./embedded", name: "TestDetailsDoNotPileUp",
		edits: []string{"	b.due = false\n", ""}},
}
