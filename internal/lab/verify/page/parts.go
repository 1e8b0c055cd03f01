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
	fmt.Fprintf(b, "The same judges in %d situations for which nothing is promised: in %d what was predicted was seen to break. Nothing got\npast the fence of those that have one.\n\n", l.Controls.Tried, l.Controls.Seen)
	b.WriteString("| what is predicted | where | seen |\n|---|---|---|\n")
	for _, c := range l.Controls.List {
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", c.Why, c.Cell, c.Seen)
	}
	for _, left := range l.Controls.LeftOut {
		fmt.Fprintf(b, "\nNot played: %s.\n", left)
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
	if !l.from(b, "peers", "Other libraries in the same cells") {
		return
	}
	b.WriteString("Broken in how many of the histories that judge it; empty: not judged, or not offered. It says what can happen, not how\noften it does: the cells are made to find it, and most of these libraries promise less. The view of rueidislock is its\ncontext, so that one finding stands in two columns.\n\n")
	var promises []string
	for _, p := range l.Peers.Rows {
		for promise := range p.Promises {
			if !slices.Contains(promises, promise) {
				promises = append(promises, promise)
			}
		}
	}
	slices.Sort(promises)
	fmt.Fprintf(b, "| | histories | %s |\n|---|---:|%s\n", strings.Join(promises, " | "), strings.Repeat("---:|", len(promises)))
	var replay []string
	for _, name := range slices.Sorted(maps.Keys(l.Peers.Rows)) {
		p := l.Peers.Rows[name]
		fmt.Fprintf(b, "| %s | %d |", name, p.Histories)
		for _, promise := range promises {
			j, ok := p.Promises[promise]
			switch {
			case !ok:
				b.WriteString(" |")
			default:
				fmt.Fprintf(b, " %d of %d |", j.Broken, j.Histories)
			}
			for _, cell := range slices.Sorted(maps.Keys(j.First)) {
				replay = append(replay, fmt.Sprintf("- %s, %s, `%s`: `%s`", name, promise, cell, j.First[cell]))
				break
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "\nTo see one of each again:\n\n%s\n", strings.Join(replay, "\n"))
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
	b.WriteString("| model | bounds | states | steps | depth | time | |\n|---|---|---:|---:|---:|---:|---|\n")
	var guards, found int
	for _, m := range l.Models {
		if m.Guard != "" {
			if guards++; m.Good {
				found++
			}
			continue
		}
		word := "nothing broken"
		if !m.Good {
			word = "**" + m.Broken + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %.1f s | %s |\n", m.Model, m.Bounds, thousands(m.States), thousands(m.Transitions), m.Depth, m.Seconds, word)
	}
	fmt.Fprintf(b, "\n%d guards were taken out, one at a time; without %d of them something broke, and was found:\n\n| model | without | breaks | states until it is found |\n|---|---|---|---:|\n", guards, found)
	for _, m := range l.Models {
		if m.Guard != "" {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", m.Model, m.Guard, m.Broken, thousands(m.States))
		}
	}
}
