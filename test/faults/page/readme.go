package main

import (
	"fmt"
	"os"
	"strings"
)

const readmeFile = "README.md"

// The figures in README stand between these.
const (
	figuresBegin = "<!-- what was run: go run ./test/faults/page -->\n"
	figuresEnd   = "<!-- end of what was run -->\n"
)

// writeReadme replaces README's table.
func writeReadme(l *latest) error {
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	above, rest, begun := strings.Cut(string(text), figuresBegin)
	_, below, ended := strings.Cut(rest, figuresEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no table between %q and %q", readmeFile, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	return os.WriteFile(readmeFile, []byte(above+figuresBegin+table(l)+figuresEnd+below), 0o644)
}

// table is a row for each way in which holdfast is checked, with the result of
// its last long run. The rest stands in docs/verification.md.
func table(l *latest) string {
	var b strings.Builder
	b.WriteString("| check | last long run |\n|---|---|\n")
	row := func(how, flag, came string, figures ...any) {
		if len(l.of(flag)) == 0 {
			came, figures = "–", nil
		}
		fmt.Fprintf(&b, "| %s | %s |\n", how, fmt.Sprintf(came, figures...))
	}
	row("`make verify`: real processes and servers under faults; up to thirteen checkers judge each history", "histories",
		"%s histories, %s faults: %d promises broken", thousands(l.Histories), thousands(l.Faults), l.Violations)
	row("`make simulate`: the client and its scripts in simulated time, with lost, late and doubled messages", "simulation",
		"%s runs, %s operations: %d promises broken", thousands(l.Stories.Stories), thousands(l.Stories.Operations), len(l.Stories.Violations))
	states := 0
	for _, m := range l.Models {
		states += m.States
	}
	guards, missed := guards(l)
	row("`go run ./test/model/cmd`: all states of the client and of a model of the quorum within bounds; of the model also with one safety check removed at a time", "models",
		"%s states; %d of %d removed checks noticed", thousands(states), guards-missed, guards)
	row("`make mutants`: one safety check of the code is removed at a time, and a test must fail", "mutants",
		"%d of %d noticed", l.Mutants.Killed, l.Mutants.Tried)
	row("`make soak`: 200 clients, 2,000 names and faults for hours; nothing may grow", "soak",
		"%.1f h, %s locks, %s faults: memory %+.0f %%, goroutines %+.0f %%",
		l.Soak.Seconds/3600, thousands(l.Soak.Granted), thousands(l.Soak.Faults), l.Soak.grew("resident, bytes"), l.Soak.grew("goroutines"))
	return b.String()
}
