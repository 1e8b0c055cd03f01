package main

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/figures"
)

// in changes to an empty directory with a page, and two runs as TestVerify writes
// them.
func in(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("docs", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		pageFile:   "# Verification\n\nBy hand.\n",
		readmeFile: "Above.\n" + figuresBegin + "| old |\n" + figuresEnd + "Below.\n",
		"m1.json":  `{"tried": 1, "killed": 1, "list": [{"guard": "b", "file": "f.go", "test": "TestB", "seconds": 2.5, "killed": true}]}`,
		"m2.json": `{"tried": 2, "killed": 1, "list": [{"guard": "c", "file": "f.go", "test": "TestC", "seconds": 3, "killed": false},
			{"guard": "a", "file": "f.go", "test": "TestA", "seconds": 4, "killed": true}]}`,
		"a.json": `{"histories": 3, "operations": 1000, "grants": 900, "faults": 20, "ended": 5, "late": 1, "slow": 1, "undecided": 0, "violations": 0,
			"silent_seconds": 1.5, "command": "one", "date": "2026-11-19", "machine": "m", "seconds": 10.5, "found": null, "broken": ["harness: x"],
			"scenarios": {"aof/none": {"histories": 2, "operations": 600}, "netns/link-down": {"histories": 1, "operations": 400, "faults": 20}},
			"left_out": {"netem: not allowed here": ["netns/line-slow", "netns/none"]}}`,
		"b.json": `{"histories": 2, "operations": 500, "grants": 400, "faults": 7, "ended": 1, "violations": 0, "silent_seconds": 0.5,
			"command": "two", "date": "2026-11-20", "machine": "m", "seconds": 4.5, "found": [], "broken": [],
			"scenarios": {"aof/none": {"histories": 1, "operations": 300}, "netns/none": {"histories": 1, "operations": 200, "faults": 7}}}`,
		"bad.json": `{"histories": 1, "operations": 100, "violations": 2, "command": "three", "date": "2026-11-21", "machine": "m", "seconds": 1,
			"found": [{"scenario": "aof/none", "seed": 7, "violations": ["exclusion: two hold", "harness: x"], "directory": "/somewhere", "replay": "again"}],
			"scenarios": {"aof/none": {"histories": 1, "operations": 100, "violations": 2}}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// kept is what docs/verification has now.
func kept(t *testing.T) (l latest, page string) {
	t.Helper()
	if err := figures.ReadJSON(latestFile, &l); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	return l, string(text)
}

// Histories that were made for their contexts are counted for these alone.
func TestContextsAreCountedSeparately(t *testing.T) {
	in(t)
	if err := update([]string{"-histories", "b.json", "-contexts", "a.json,b.json"}); err != nil {
		t.Fatal(err)
	}
	l, text := kept(t)
	if got, want := l.Operations, 500; got != want {
		t.Errorf("attempts: got %d, want %d", got, want)
	}
	for _, want := range []string{"Of 6 leases", "**1** contexts ended", "These 5 histories", "- 2026-11-19 to 2026-11-20, machine A: 2 runs, 5 histories in 15 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has not %q:\n%s", want, text)
		}
	}
	if err := update([]string{"-contexts", "bad.json"}); err == nil {
		t.Error("took histories in which promises were broken")
	}
}

// A run made in parts counts as the sum of them, topology by topology, and each part's
// command and date are kept.
func TestHistoriesAreAddedUp(t *testing.T) {
	in(t)
	if err := update([]string{"-histories", "a.json", "-histories", "b.json"}); err != nil {
		t.Fatal(err)
	}
	l, text := kept(t)
	if got, want := l.counts, (counts{Histories: 5, Operations: 1500, Grants: 1300, Faults: 27, Ended: 6, Late: 1, Slow: 1, Silent: 1.5}); got != want {
		t.Errorf("all: got %+v, want %+v", got, want)
	}
	if got, want := *l.Topologies["aof"], (topology{Scenarios: 1, counts: counts{Histories: 3, Operations: 900}, Least: 3, Timed: 3}); got != want {
		t.Errorf("aof: got %+v, want %+v", got, want)
	}
	if got, want := l.Seconds, 15.0; got != want {
		t.Errorf("seconds: got %v, want %v", got, want)
	}
	if got, want := l.Failed, 1; got != want {
		t.Errorf("harness failed: got %d, want %d", got, want)
	}
	for _, want := range []string{
		"By hand.", "2 runs. The command", "- 2026-11-19 to 2026-11-20, machine A: 2 runs, 5 histories in 15 s",
		"5 histories in 15 s: 1,500 attempts", "**0 promises broken**", "\naof | 1 | 3 | 3, 3\n",
		"\nnetns | 2 | 2 | 1, 1\n", "silent for up to 1.5 s", "Not run: netns/line-slow (netem: not allowed here).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has not %q:\n%s", want, text)
		}
	}
	if err := update([]string{"-histories", "b.json,a.json"}); err != nil { // in place of what was there
		t.Fatal(err)
	}
	l, _ = kept(t)
	if got, want := l.Histories, 5; got != want {
		t.Errorf("taken again: got %d histories, want %d", got, want)
	}
	if err := update(nil); err != nil {
		t.Fatal(err)
	}
	if again, _ := kept(t); len(again.of("histories")) != 2 {
		t.Errorf("made again: got %+v, want two runs", again.Runs)
	}
}

// One file is one run, as ever.
func TestHistoriesOfOneRun(t *testing.T) {
	in(t)
	if err := update([]string{"-histories", "b.json"}); err != nil {
		t.Fatal(err)
	}
	l, text := kept(t)
	if got := l.of("histories"); len(got) != 1 || got[0].Command != "two" || got[0].Date != "2026-11-20" {
		t.Errorf("got %+v, want the command and date of the run", got)
	}
	if want := "- machine A: m\n\n### Real processes and servers\n\n`two`, 2026-11-20, machine A\n"; !strings.Contains(text, want) {
		t.Errorf("the page has not %q:\n%s", want, text)
	}
}

// What broke a promise is not added up in silence.
func TestBrokenHistories(t *testing.T) {
	in(t)
	err := update([]string{"-histories", "a.json,bad.json"})
	if err == nil || !strings.Contains(err.Error(), "bad.json: 2 promises were broken") {
		t.Errorf("got %v, want it to refuse bad.json", err)
	}
	if _, err := os.Stat(latestFile); err == nil {
		t.Error("what was refused is kept")
	}
	if err := update([]string{"-broken", "-histories", "a.json,bad.json"}); err != nil {
		t.Fatal(err)
	}
	l, text := kept(t)
	if l.Violations != 2 || len(l.Found) != 1 || len(l.Found[0].Violations) != 1 {
		t.Errorf("got %d violations, found %+v, want 2, and one history with one that is no word of the harness", l.Violations, l.Found)
	}
	for _, want := range []string{"**2 promises broken**", "**aof/none**, `again`", "exclusion: two hold"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has not %q:\n%s", want, text)
		}
	}
}

// What makes no sense is refused, with the reason.
func TestWrongFiles(t *testing.T) {
	in(t)
	for want, args := range map[string][]string{
		"count twice":      {"-histories", "a.json,a.json"},
		"no histories":     {"-histories", "empty.json"},
		"-peers takes one": {"-peers", "a.json,b.json"},
		"without a name":   {"-histories", "a.json,"},
		"which flag":       {"a.json"},
	} {
		if err := os.WriteFile("empty.json", []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := update(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q in it", args, err, want)
		}
	}
}
