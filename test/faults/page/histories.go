package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/support/figures"
)

// counts are sums over histories.
type counts struct {
	Histories  int `json:"histories"`
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Faults     int `json:"faults"`
	Ended      int `json:"ended"`
	Late       int `json:"late"`
	Slow       int `json:"slow"`
	Undecided  int `json:"undecided"`
	Violations int `json:"violations"`

	Silent float64 `json:"silent_seconds,omitempty"` // the longest of all
}

func (c *counts) add(o counts) {
	c.Histories += o.Histories
	c.Operations += o.Operations
	c.Grants += o.Grants
	c.Faults += o.Faults
	c.Ended += o.Ended
	c.Late += o.Late
	c.Slow += o.Slow
	c.Undecided += o.Undecided
	c.Violations += o.Violations
	c.Silent = max(c.Silent, o.Silent)
}

// histories are the summary of all runs.
type histories struct {
	counts
	Seconds    float64              `json:"seconds"`
	Topologies map[string]*topology `json:"topologies"`
	Found      []finding            `json:"found,omitempty"` // what broke a promise
	Failed     int                  `json:"harness_failed,omitempty"`
	LeftOut    map[string][]string  `json:"left_out,omitempty"` // scenarios that no run has played, by the reason
}

// topology is the sum of its scenarios.
type topology struct {
	Scenarios int `json:"scenarios"`
	counts
	Least int `json:"least"`       // histories of a scenario
	Timed int `json:"least_timed"` // the same, of those whose times were checked
}

// contexts are the leases that ended by their deadline in a process that ran, in
// histories that were made to count them.
type contexts struct {
	Histories int `json:"histories"`
	Ended     int `json:"ended"`
	Late      int `json:"late"`
}

// finding is a history that broke a promise.
type finding struct {
	Scenario   string   `json:"scenario"`
	Seed       uint64   `json:"seed"`
	Violations []string `json:"violations"`
	Replay     string   `json:"replay"`
}

// result is what TestVerify writes, or the sum of several.
type result struct {
	counts
	Seconds   float64             `json:"seconds"`
	Command   string              `json:"command"`
	Date      string              `json:"date"`
	Machine   string              `json:"machine"`
	Scenarios map[string]counts   `json:"scenarios"`
	Found     []finding           `json:"found"`
	Broken    []string            `json:"broken"`   // what went wrong with the harness
	LeftOut   map[string][]string `json:"left_out"` // scenarios that could not be played, by the reason
}

// takeHistories puts the sum of what the files say in place of what was there.
func takeHistories(l *latest, from source) error {
	sum, runs, err := from.results()
	if err == nil {
		l.histories = sum.summary()
		l.ran(from.flag, runs...)
	}
	return err
}

// takeContexts keeps, of such a sum, how many contexts ended, and how many of them
// late: of histories that were made for it, where the machine had time.
func takeContexts(l *latest, from source) error {
	from.broken = false // what they broke would not be shown
	sum, runs, err := from.results()
	if err == nil {
		l.Contexts = &contexts{Histories: sum.Histories, Ended: sum.Ended, Late: sum.Late}
		l.ran(from.flag, runs...)
	}
	return err
}

// results adds up what the files say. Where a promise was broken it refuses, unless
// that is to be shown.
func (s source) results() (sum result, runs []run, err error) {
	var texts [][]byte
	for _, file := range s.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return sum, nil, err
		}
		if i := slices.IndexFunc(texts, func(t []byte) bool { return bytes.Equal(t, text) }); i >= 0 {
			return sum, nil, fmt.Errorf("%s is the same as %s: it would count twice", file, s.files[i])
		}
		texts = append(texts, text)
		r, err := s.result(file)
		if err != nil {
			return sum, nil, err
		}
		sum.add(r)
		runs = append(runs, run{s.flag, r.Command, r.Date, r.Machine, r.Histories, r.Seconds})
	}
	return sum, runs, nil
}

// result reads a file.
func (s source) result(file string) (result, error) {
	now := s.now()
	r := result{Command: now.Command, Machine: now.Machine}
	if err := figures.ReadJSON(file, &r); err != nil {
		return r, err
	}
	if r.Histories == 0 {
		return r, fmt.Errorf("%s has no histories: is it what -result of TestVerify has written?", file)
	}
	if r.Violations > 0 && !s.broken {
		return r, fmt.Errorf("%s: %d promises were broken in it; -broken takes such histories all the same, and shows them", file, r.Violations)
	}
	if r.Date == "" {
		info, err := os.Stat(file)
		if err != nil {
			return r, err
		}
		r.Date = info.ModTime().Format(time.DateOnly)
	}
	return r, nil
}

// add adds those of one run.
func (sum *result) add(r result) {
	sum.counts.add(r.counts)
	sum.Seconds += r.Seconds
	sum.Broken = append(sum.Broken, r.Broken...)
	if sum.Scenarios == nil {
		sum.Scenarios, sum.LeftOut = map[string]counts{}, map[string][]string{}
	}
	for name, c := range r.Scenarios {
		all := sum.Scenarios[name]
		all.add(c)
		sum.Scenarios[name] = all
	}
	for _, f := range r.Found {
		f.Violations = slices.DeleteFunc(f.Violations, func(v string) bool { return strings.HasPrefix(v, "harness: ") })
		if len(f.Violations) > 0 {
			sum.Found = append(sum.Found, f)
		}
	}
	for reason, scenarios := range r.LeftOut {
		sum.LeftOut[reason] = append(sum.LeftOut[reason], scenarios...)
	}
}

// summary adds up the scenarios of each topology.
func (sum *result) summary() histories {
	h := histories{counts: sum.counts, Seconds: sum.Seconds, Topologies: map[string]*topology{}, Found: sum.Found, Failed: len(sum.Broken)}
	for scenario, c := range sum.Scenarios {
		name, _, _ := strings.Cut(scenario, "/")
		t := h.Topologies[name]
		if t == nil {
			t = &topology{Least: c.Histories, Timed: c.Histories - c.Slow}
			h.Topologies[name] = t
		}
		t.Scenarios++
		t.add(c)
		t.Least, t.Timed = min(t.Least, c.Histories), min(t.Timed, c.Histories-c.Slow)
	}
	for reason, scenarios := range sum.LeftOut {
		scenarios = slices.DeleteFunc(scenarios, func(scenario string) bool { return sum.Scenarios[scenario].Histories > 0 })
		if slices.Sort(scenarios); len(scenarios) > 0 {
			if h.LeftOut == nil {
				h.LeftOut = map[string][]string{}
			}
			h.LeftOut[reason] = slices.Compact(scenarios)
		}
	}
	return h
}

func writeHistories(l *latest, b *strings.Builder) {
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
	if l.Slow > 0 {
		fmt.Fprintf(b, "In %s histories the machine was too busy to check times.\n", thousands(l.Slow))
	}
	if l.Silent > 0 {
		fmt.Fprintf(b, "After a network fault, TCP was silent for up to %.1f s.\n", l.Silent)
	}
	if l.Failed > 0 {
		fmt.Fprintf(b, "In %d histories the harness failed; the events recorded until then were checked.\n", l.Failed)
	}
	b.WriteString("\ntopology | scenarios | histories | least in a scenario: all, with times checked\n---|---:|---:|---:\n")
	for _, name := range slices.Sorted(maps.Keys(l.Topologies)) {
		t := l.Topologies[name]
		fmt.Fprintf(b, "%s | %d | %s | %d, %d\n", name, t.Scenarios, thousands(t.Histories), t.Least, t.Timed)
	}
	for _, reason := range slices.Sorted(maps.Keys(l.LeftOut)) {
		fmt.Fprintf(b, "\nNot run: %s (%s).\n", strings.Join(l.LeftOut[reason], ", "), reason)
	}
	for _, f := range l.Found {
		fmt.Fprintf(b, "\n- **%s**, `%s`:\n", f.Scenario, f.Replay)
		for _, v := range f.Violations {
			fmt.Fprintf(b, "  - %s\n", v)
		}
	}
}

// writeContexts says how many ended in time where the machine was asked for nothing else.
func writeContexts(l *latest, b *strings.Builder) {
	if l.Contexts == nil || !l.from(b, "contexts", "Contexts in time") {
		return
	}
	c := l.Contexts
	fmt.Fprintf(b, "Of %s leases that ended by their deadline in a process that ran from 0.5 s before until 0.5 s after it,\n**%s** contexts ended more than 20 ms late. These %s histories are not counted above.\n",
		thousands(c.Ended), thousands(c.Late), thousands(c.Histories))
}
