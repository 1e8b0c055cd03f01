package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (l *latest) writeHistories(b *strings.Builder) {
	if !l.from(b, "histories", "Real processes and servers") {
		return
	}
	fmt.Fprintf(b, "%s histories in %.0f s: %s attempts to lock, %s leases, %s faults, **%d promises broken**.\n",
		thousands(l.Histories), l.Seconds, thousands(l.Operations), thousands(l.Grants), thousands(l.Faults), l.Violations)
	if l.Violations == 0 && l.Histories > 0 {
		fmt.Fprintf(b, "\nThis is no proof. If each history has the same chance to break a promise, that chance is below 3 in %s (95 %%\nconfidence). For promises about time it is below 3 in %s, since a busy machine excludes those checks.\n",
			thousands(l.Histories), thousands(l.Histories-l.Slow))
	}
	if l.Ended > 0 {
		fmt.Fprintf(b, "\nOf %s leases that ended by their deadline while their process ran, %s contexts ended more than 20 ms late.\n", thousands(l.Ended), thousands(l.Late))
	}
	if l.Undecided > 0 {
		fmt.Fprintf(b, "The search for an order was given up %s.\n", times(l.Undecided))
	}
	l.machineOf(b)
	l.table(b)
	for _, reason := range slices.Sorted(maps.Keys(l.LeftOut)) {
		if cells := l.leftOut(reason); len(cells) > 0 {
			fmt.Fprintf(b, "\nNot run: %s (%s).\n", strings.Join(cells, ", "), reason)
		}
	}
	for _, f := range l.Found {
		fmt.Fprintf(b, "\n- **%s**, `%s`:\n", f.Cell, f.Replay)
		for _, v := range f.Violations {
			fmt.Fprintf(b, "  - %s\n", v)
		}
	}
}

// contexts says how many ended in time where the machine was asked for nothing else.
func (l *latest) contexts(b *strings.Builder) {
	if l.Contexts == nil || !l.from(b, "contexts", "Contexts in time") {
		return
	}
	c := l.Contexts
	fmt.Fprintf(b, "Of %s leases that ended by their deadline in a process that ran from 0.5 s before until 0.5 s after it,\n**%s** contexts ended more than 20 ms late. These %s histories are not counted above.\n",
		thousands(c.Ended), thousands(c.Late), thousands(c.Histories))
}

// machineOf says what the machine had to do with it.
func (l *latest) machineOf(b *strings.Builder) {
	if l.Slow > 0 {
		fmt.Fprintf(b, "In %s histories the machine was too busy to check times.\n", thousands(l.Slow))
	}
	if l.Silent > 0 {
		fmt.Fprintf(b, "After a network fault, TCP was silent for up to %.1f s.\n", l.Silent)
	}
	if l.Failed > 0 {
		fmt.Fprintf(b, "In %d histories the harness failed; the events recorded until then were checked.\n", l.Failed)
	}
}

// table has a row for each topology. The counts of each scenario stand in latest.json.
func (l *latest) table(b *strings.Builder) {
	b.WriteString("\ntopology | scenarios | histories | least in a scenario: all, with times checked\n---|---:|---:|---:\n")
	places := map[string]*place{}
	for name, c := range l.Cells {
		topology, _, _ := strings.Cut(name, "/")
		p := places[topology]
		if p == nil {
			p = &place{least: c.Histories, timed: c.Histories - c.Slow}
			places[topology] = p
		}
		p.cells++
		p.histories += c.Histories
		p.least, p.timed = min(p.least, c.Histories), min(p.timed, c.Histories-c.Slow)
	}
	for _, topology := range slices.Sorted(maps.Keys(places)) {
		p := places[topology]
		fmt.Fprintf(b, "%s | %d | %s | %d, %d\n", topology, p.cells, thousands(p.histories), p.least, p.timed)
	}
}

// place is a topology: how many scenarios and histories there were, and the least of a
// scenario.
type place struct{ cells, histories, least, timed int }
