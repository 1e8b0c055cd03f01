package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parts are the runs, each with the flag that takes what it has written.
var parts = []part{
	{"histories", "make verify-long", nil, (*latest).takeHistories},
	{"contexts", "go test -run '^TestVerify$' ./internal/lab/verify -args -parallel-histories 2", nil, (*latest).takeContexts},
	{"controls", "go test -run '^TestControls$' ./internal/lab/verify", func(l *latest) any { l.Controls = controls{}; return &l.Controls }, nil},
	{"peers", peersCommand, func(l *latest) any { return &l.Peers }, nil},
	{"simulation", `make simulate SIM="-seeds N"`, func(l *latest) any { l.Stories = stories{}; return &l.Stories }, nil},
	{"models", "go run ./internal/lab/model/cmd -large -o json", func(l *latest) any { l.Models = nil; return &l.Models }, nil},
	{"soak", "make soak", func(l *latest) any { l.Soak = soak{}; return &l.Soak }, nil},
	{"mutants", "make mutants", nil, (*latest).takeMutants},
}

// peersCommand plays the peers as docs/verification.md says.
const peersCommand = `go test -run '^TestPeers$' -timeout 30m ./internal/lab/verify -args -peer-histories 2 -peer-cell '^standalone/(none|client-frozen/.*|nth-answer-lost|server-frozen)$'`

// controls are situations outside the promises.
type controls struct {
	Tried int       `json:"tried"`
	Seen  int       `json:"seen"`
	List  []control `json:"list,omitempty"`

	LeftOut []string `json:"left_out,omitempty"`
}

type control struct {
	Why  string `json:"why"`
	Cell string `json:"cell"`
	Seed uint64 `json:"seed"`
	Seen string `json:"seen"` // what broke
}

func (l *latest) controls(b *strings.Builder) {
	if !l.from(b, "controls", "Outside the promises") {
		return
	}
	fmt.Fprintf(b, "%d situations that no promise covers; in %d the checkers found the predicted failure. No fence let a late write through.\n\n", l.Controls.Tried, l.Controls.Seen)
	predicted := map[string][]string{}
	for _, c := range l.Controls.List {
		checker, _, _ := strings.Cut(c.Seen, ":")
		if why, ok := strings.CutSuffix(c.Why, ": two hold"); ok {
			checker, c.Why = checker+" (two hold)", why
		}
		predicted[checker] = append(predicted[checker], c.Why)
	}
	for _, checker := range slices.Sorted(maps.Keys(predicted)) {
		fmt.Fprintf(b, "- *%s*: %s\n", checker, strings.Join(predicted[checker], "; "))
	}
	for _, left := range l.Controls.LeftOut {
		fmt.Fprintf(b, "\nNot run: %s.\n", left)
	}
}

// peers are other libraries in the same cells.
type peers struct {
	Rows map[string]peer `json:"peers"`
}

type peer struct {
	Histories int                 `json:"histories"`
	Grants    int                 `json:"grants"`
	Promises  map[string]judgment `json:"promises"`
	Overtaken int                 `json:"overtaken"`
}

type judgment struct {
	Histories int               `json:"histories"`
	Broken    int               `json:"broken"`
	First     map[string]string `json:"first"`
}

func (l *latest) peers(b *strings.Builder) {
	if !l.from(b, "peers", "Other libraries in the same scenarios") {
		return
	}
	b.WriteString("Each cell is the number of histories that broke the promise / that checked it; –: not checked or not offered. The table\nshows what can happen, not how often: most of these libraries promise less. The view of rueidislock is its context, so one\nfailure stands in two columns.\n\n")
	var promises []string
	for _, p := range l.Peers.Rows {
		for promise := range p.Promises {
			if !slices.Contains(promises, promise) {
				promises = append(promises, promise)
			}
		}
	}
	slices.Sort(promises)
	fmt.Fprintf(b, "library | %s\n---%s\n", strings.Join(promises, " | "), strings.Repeat("|---:", len(promises)))
	for _, name := range slices.Sorted(maps.Keys(l.Peers.Rows)) {
		p := l.Peers.Rows[name]
		b.WriteString(name)
		for _, promise := range promises {
			j, ok := p.Promises[promise]
			switch {
			case !ok:
				b.WriteString(" | –")
			default:
				fmt.Fprintf(b, " | %d/%d", j.Broken, j.Histories)
			}
		}
		b.WriteString("\n")
	}
}

// model is one search of the states of a model, or of one without a guard.
type model struct {
	Model       string  `json:"model"`
	Bounds      string  `json:"bounds"`
	Guard       string  `json:"guard,omitempty"`
	States      int     `json:"states"`
	Transitions int     `json:"transitions"`
	Depth       int     `json:"depth"`
	Seconds     float64 `json:"seconds"`
	Broken      string  `json:"broken,omitempty"`
	Good        bool    `json:"good"`
}

func (l *latest) models(b *strings.Builder) {
	if !l.from(b, "models", "All states of the models") {
		return
	}
	searches := map[string]*search{}
	guards, found := 0, 0
	var missed []model
	for _, m := range l.Models {
		switch s := searches[m.Model]; {
		case m.Guard != "" && m.Good:
			guards, found = guards+1, found+1
		case m.Guard != "":
			guards, missed = guards+1, append(missed, m)
		case s == nil:
			searches[m.Model] = &search{1, m.States, m.Transitions, m.Seconds, broken(m)}
		default:
			*s = search{s.runs + 1, s.states + m.States, s.steps + m.Transitions, s.seconds + m.Seconds, s.broken + broken(m)}
		}
	}
	b.WriteString("model | searches | states | steps | time | broken\n---|---:|---:|---:|---:|---:\n")
	for _, name := range slices.Sorted(maps.Keys(searches)) {
		s := searches[name]
		fmt.Fprintf(b, "%s | %d | %s | %s | %.0f s | %d\n", name, s.runs, thousands(s.states), thousands(s.steps), s.seconds, s.broken)
	}
	fmt.Fprintf(b, "\nWithout one guard at a time, the search found a broken promise for %d of %d guards.\n", found, guards)
	for _, m := range missed {
		fmt.Fprintf(b, "\n- **not found**: %s, %s\n", m.Model, m.Guard)
	}
	for _, m := range l.Models {
		if broken(m) > 0 {
			fmt.Fprintf(b, "\n- **broken**: %s, %s: %s\n", m.Model, m.Bounds, m.Broken)
		}
	}
}

// search is the sum of the searches of a model.
type search struct {
	runs, states, steps int
	seconds             float64
	broken              int
}

// broken is 1 if a whole model broke a promise.
func broken(m model) int {
	if m.Guard == "" && !m.Good {
		return 1
	}
	return 0
}
