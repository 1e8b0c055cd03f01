package main

// cliMutants are the guards of the command line.
var cliMutants = []mutant{
	{guard: "details: a flag that does not say so hides, too", file: "cmd/holdfast/run_details.go", pkg: "./cmd/holdfast", name: "TestCommandLine",
		edits: []string{"attached, next = f.attached, f.next", "attached = f.attached"}},
	{guard: "details: in one word with it", file: "cmd/holdfast/run_details.go", pkg: "./cmd/holdfast", name: "TestCommandLine",
		edits: []string{"arg = attached + \"***\"", "_ = attached"}},
	{guard: "acquire: what nobody can read is given back", file: "cmd/holdfast/acquire.go", pkg: "./cmd/holdfast", name: "TestAcquireForNobody",
		edits: []string{"client.ReleaseExported(context.Background(), text) == nil && hold", "hold"}},
	{guard: "completion: only names that a shell takes for a word", file: "cmd/holdfast/completion_names.go", pkg: "./cmd/holdfast", name: "TestOneWord",
		edits: []string{"strings.ContainsRune(\"_.:/@+=%-\", r)", "strings.ContainsRune(\"_.:/@+=%- ;$()\", r)"}},
	{guard: "completion: no name that would be a flag", file: "cmd/holdfast/completion_names.go", pkg: "./cmd/holdfast", name: "TestOneWord",
		edits: []string{"first := true", "first := false"}},
	{guard: "top: names are spelled out", file: "cmd/holdfast/top_view.go", pkg: "./cmd/holdfast", name: "TestTopFits",
		edits: []string{"return visible(r.Name) }", "return r.Name }"}},
	{guard: "top: no line is wider than the screen", file: "cmd/holdfast/top_view.go", pkg: "./cmd/holdfast", name: "TestTopFits",
		edits: []string{"lines[i] = m.cut(lines[i])", "_ = m.cut(lines[i])"}},
	{guard: "top: the cursor stays on its name", file: "cmd/holdfast/top_model.go", pkg: "./cmd/holdfast", name: "TestTopCursor",
		edits: []string{"m.cursor = at\n", "_ = at\n"}},
	{guard: "top: without an answer the picture stays", file: "cmd/holdfast/top_model.go", pkg: "./cmd/holdfast", name: "TestTopWithoutAnswer",
		edits: []string{"\t\tm.err = seen.err\n\t\treturn\n", "\t\tm.err = seen.err\n\t\tm.shown = nil\n\t\treturn\n"}},
	{guard: "journal: a refusal is told without -v", file: "cmd/holdfast/keep_journal.go", pkg: "./cmd/holdfast", name: "TestJournalIsRefused",
		edits: []string{"	if r.Level < slog.LevelWarn {", "	if r.Level == slog.LevelWarn {\n		return nil\n	}\n	if r.Level < slog.LevelWarn {"}},
	{guard: "journal: serve writes none where none is wanted", file: "cmd/holdfast/serve.go", pkg: "./cmd/holdfast", name: "TestServeWritesTheJournal",
		edits: []string{"&jobLog{a: a, silent: f.silent}", "&jobLog{a: a}"}},
	{guard: "bench: its keys are deleted", file: "cmd/holdfast/bench.go", pkg: "./cmd/holdfast", name: "TestBenchInterrupted",
		edits: []string{"\tdefer func() { err = errors.Join(err, a.removeBench(b)) }()\n", ""}},
}
