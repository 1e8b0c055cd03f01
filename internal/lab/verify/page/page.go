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
	l.histories(&b)
	l.controls(&b)
	l.peers(&b)
	l.simulation(&b)
	l.models(&b)
	l.mutants(&b)
	return os.WriteFile(pageFile, []byte(b.String()), 0o644)
}

// from says how and where a part was found.
func (l *latest) from(b *strings.Builder, flag, title string) bool {
	run, ok := l.Runs[flag]
	if ok {
		fmt.Fprintf(b, "\n### %s\n\n`%s`, %s, %s\n\n", title, run.Command, run.Date, run.Machine)
	}
	return ok
}

func (l *latest) histories(b *strings.Builder) {
	if !l.from(b, "histories", "Real processes and servers") {
		return
	}
	fmt.Fprintf(b, "%s histories in %.0f s, %s attempts to lock, %s leases, %s faults: **%d promises broken**.",
		thousands(l.Histories), l.Seconds, thousands(l.Operations), thousands(l.Grants), thousands(l.Faults), l.Violations)
	if l.Violations == 0 && l.Histories > 0 {
		fmt.Fprintf(b, " That is no proof: if each history of this mix broke one with the same chance, that chance is below\n3 in %s with 95 %% certainty.", thousands(l.Histories))
	}
	if l.Ended > 0 {
		fmt.Fprintf(b, " Of %s leases that ended by their deadline in a process that ran, the context of %s came more than 20 ms late.", thousands(l.Ended), thousands(l.Late))
	}
	if l.Undecided > 0 {
		fmt.Fprintf(b, " For %d names the search for an order was given up.", l.Undecided)
	}
	b.WriteString("\n\n| place | cells | histories | least in a cell | attempts | faults | broken |\n|---|---:|---:|---:|---:|---:|---:|\n")
	places := map[string]*counts{}
	cells, least := map[string]int{}, map[string]int{}
	for name, c := range l.Cells {
		place, _, _ := strings.Cut(name, "/")
		if places[place] == nil {
			places[place], least[place] = &counts{}, c.Histories
		}
		p := places[place]
		p.Histories += c.Histories
		p.Operations += c.Operations
		p.Faults += c.Faults
		p.Violations += c.Violations
		cells[place]++
		least[place] = min(least[place], c.Histories)
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		p := places[place]
		fmt.Fprintf(b, "| %s | %d | %s | %d | %s | %s | %d |\n", place, cells[place], thousands(p.Histories), least[place], thousands(p.Operations), thousands(p.Faults), p.Violations)
	}
}

func (l *latest) simulation(b *strings.Builder) {
	if !l.from(b, "simulation", "Simulated time") {
		return
	}
	all := 0
	for _, n := range l.Stories.Operations {
		all += n
	}
	fmt.Fprintf(b, "%s stories, %s operations: **%d promises broken**. What happened in them, so often:\n\n", thousands(l.Stories.Stories), thousands(all), len(l.Stories.Violations))
	b.WriteString("| fault | times |\n|---|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(l.Stories.Faults)) {
		fmt.Fprintf(b, "| %s | %s |\n", what, thousands(l.Stories.Faults[what]))
	}
}

func (l *latest) mutants(b *strings.Builder) {
	if !l.from(b, "mutants", "Guards taken out") {
		return
	}
	slowest := slices.MaxFunc(l.Mutants.List, func(a, b mutant) int { return int(a.Seconds - b.Seconds) })
	fmt.Fprintf(b, "%d guards of the client and the scripts, each taken out once: **%d caught**, each by the test that is named for it,\nbuild included in %.0f s at most. [All of them](verification/mutants.md).\n", l.Mutants.Tried, l.Mutants.Killed, slowest.Seconds)
}

func (l *latest) writeMutants() error {
	if len(l.Mutants.List) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("<!-- made by go run ./internal/lab/verify/page -->\n# Guards taken out\n\n")
	b.WriteString("`make mutants` takes each of these out of the client or a script, one at a time, and runs the test that must fail then.\n\n")
	b.WriteString("| guard | in | test | caught in |\n|---|---|---|---:|\n")
	slices.SortFunc(l.Mutants.List, func(a, b mutant) int { return strings.Compare(a.Guard, b.Guard) })
	for _, m := range l.Mutants.List {
		word := fmt.Sprintf("%.1f s", m.Seconds)
		if !m.Killed {
			word = "**not caught**"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", strings.ReplaceAll(m.Guard, "|", "\\|"), m.File, m.Test, word)
	}
	return os.WriteFile(mutantsFile, []byte(b.String()), 0o644)
}

// thousands is 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
