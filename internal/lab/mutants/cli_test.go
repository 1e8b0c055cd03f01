package mutants

// cliMutants are the guards of the command line.
var cliMutants = []mutant{
	{guard: "acquire: a lease whose output cannot be written is released", file: "cmd/holdfast/internal/lease/lease.go", pkg: "./cmd/holdfast", name: "TestAcquireForNobody",
		edits: []string{"		_ = client.ReleaseExported(context.Background(), text)\n", ""}},
	{guard: "details: arguments are stored only with --details command", file: "cmd/holdfast/internal/take/details.go", pkg: "./cmd/holdfast/internal/take", name: "TestCommandInDetails",
		edits: []string{`d.stored == "command"`, "true"}},
	{guard: "details: writes do not pile up", file: "internal/details/note.go", pkg: "./embedded", name: "TestDetailsDoNotPileUp",
		edits: []string{"	if n.due {", "	if false {"}},
	{guard: "details: a change during a write is written", file: "internal/details/note.go", pkg: "./embedded", name: "TestDetailsDoNotPileUp",
		edits: []string{"	n.due = false\n", ""}},
	{guard: "details: nothing is written after Close", file: "internal/details/note.go", pkg: "./internal/details", name: "TestNoteBehindTheEnd",
		edits: []string{"	if closed { ", "	if false { "}},
	{guard: "details: a failure after Close is not logged", file: "internal/details/note.go", pkg: "./internal/details", name: "TestNoteBehindTheEnd",
		edits: []string{"err == nil || closed || n.warned", "err == nil || n.warned"}},
}
