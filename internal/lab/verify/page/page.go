package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// below is where the page is made anew; what stands above is written by hand.
const below = "<!-- made by go run ./internal/lab/verify/page from docs/verification/latest.json; edit what is above -->\n"

func (l *latest) writePage() error {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	above, _, _ := strings.Cut(string(text), below)
	var b strings.Builder
	b.WriteString(strings.TrimRight(above, "\n") + "\n\n" + below + "\n## What was run\n")
	l.writeHistories(&b)
	l.contexts(&b)
	l.controls(&b)
	l.peers(&b)
	l.soak(&b)
	l.simulation(&b)
	l.models(&b)
	l.mutants(&b)
	return os.WriteFile(pageFile, []byte(b.String()), 0o644)
}

// from says how and where a part was found.
func (l *latest) from(b *strings.Builder, flag, title string) bool {
	run, ok := l.Runs[flag]
	if !ok {
		return false
	}
	fmt.Fprintf(b, "\n### %s\n\n", title)
	if len(run.Parts) == 0 {
		fmt.Fprintf(b, "`%s`, %s, %s\n\n", run.Command, run.Date, run.Machine)
		return true
	}
	fmt.Fprintf(b, "In %d runs:\n\n", len(run.Parts))
	for _, p := range run.Parts {
		fmt.Fprintf(b, "- `%s`, %s, %s: %s histories in %.0f s\n", p.Command, p.Date, p.Machine, thousands(p.Histories), p.Seconds)
	}
	b.WriteString("\n")
	return true
}

func (l *latest) simulation(b *strings.Builder) {
	if !l.from(b, "simulation", "Simulated time") {
		return
	}
	fmt.Fprintf(b, "%s stories, %s operations: **%d promises broken**. What happened in them, so often:\n\n", thousands(l.Stories.Stories), thousands(total(l.Stories.Operations)), len(l.Stories.Violations))
	b.WriteString("| fault | times |\n|---|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(l.Stories.Faults)) {
		fmt.Fprintf(b, "| %s | %s |\n", what, thousands(l.Stories.Faults[what]))
	}
}

// total is the sum of what was counted.
func total(counted map[string]int) (n int) {
	for _, times := range counted {
		n += times
	}
	return n
}

// times is "once", "2 times", and so on.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return thousands(n) + " times"
}

// thousands is 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
