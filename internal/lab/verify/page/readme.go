package main

import (
	"fmt"
	"os"
	"strings"
)

const readmeFile = "README.md"

// The figures in README stand between these.
const (
	figuresBegin = "<!-- what was run: go run ./internal/lab/verify/page -->\n"
	figuresEnd   = "<!-- end of what was run -->\n"
)

// writeReadme makes README's table anew.
func (l *latest) writeReadme() error {
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	above, rest, begun := strings.Cut(string(text), figuresBegin)
	_, below, ended := strings.Cut(rest, figuresEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no table between %q and %q", readmeFile, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	return os.WriteFile(readmeFile, []byte(above+figuresBegin+l.figures()+figuresEnd+below), 0o644)
}

// figures is a row for each way in which holdfast is checked, and what its last
// long run came to.
func (l *latest) figures() string {
	var b strings.Builder
	b.WriteString("| | | last long run |\n|---|---|---|\n")
	row := func(what, how, flag, came string, figures ...any) {
		if _, run := l.Runs[flag]; !run {
			came, figures = "–", nil
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", what, how, fmt.Sprintf(came, figures...))
	}
	row("real processes and servers", "frozen and killed at exact steps, servers emptied, filled and failed over, networks cut; up to thirteen checkers judge each history: `make verify`",
		"histories", "%s histories, %s attempts to lock, %s faults: %d promises broken",
		thousands(l.Histories), thousands(l.Operations), thousands(l.Faults), l.Violations)
	row("situations without a promise", "what must break is seen to break", "controls", "%d of %d", l.Controls.Seen, l.Controls.Tried)
	histories, peers, broken := 0, 0, 0
	for name, p := range l.Peers.Rows {
		if name == "holdfast" {
			continue
		}
		histories, peers = histories+p.Histories, peers+1
		if p.breaks() {
			broken++
		}
	}
	row("other locks in the same cells", "what can break there is shown, not how often", "peers", "%d of %d were seen to break something, in %s histories", broken, peers, thousands(histories))
	row("simulated time", "the client and its scripts in random stories of lost, late and doubled messages; one that fails becomes short: `make simulate`",
		"simulation", "%s stories, %s operations: %d promises broken", thousands(l.Stories.Stories), thousands(total(l.Stories.Operations)), len(l.Stories.Violations))
	states, guards, found := 0, 0, 0
	for _, m := range l.Models {
		switch {
		case m.Guard == "":
			states += m.States
		case m.Good:
			guards, found = guards+1, found+1
		default:
			guards++
		}
	}
	row("models", "every state of the protocol within bounds, and again without each guard: `make model`",
		"models", "%s states; %d of %d guards, taken out, are noticed", thousands(states), found, guards)
	row("guards of the code", "each taken out once, and a test must fail: `make mutants`", "mutants", "%d of %d caught", l.Mutants.Killed, l.Mutants.Tried)
	row("hours on end", "200 clients, 2,000 names, and whatever can fail: nothing may grow: `make soak`", "soak",
		"%.1f h, %s locks, %s faults: memory %+.0f %%, goroutines %+.0f %%",
		l.Soak.Seconds/3600, thousands(l.Soak.Total.Granted), thousands(total(l.Soak.Faults)), l.Soak.grew("resident, bytes"), l.Soak.grew("goroutines"))
	return b.String()
}

// breaks reports whether anything was seen to break.
func (p peer) breaks() bool {
	for _, j := range p.Promises {
		if j.Broken > 0 {
			return true
		}
	}
	return false
}

// grew is by how many percent something was more in the last fifth of the time
// than in the second.
func (s *soak) grew(what string) float64 {
	t := s.Trends[what]
	if t.Begin == 0 {
		return 0
	}
	return 100 * (t.End/t.Begin - 1)
}
