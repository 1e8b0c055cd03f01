//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// Report is what all histories came to.
type Report struct {
	Counts
	Command string  `json:"command,omitempty"`
	Date    string  `json:"date"`
	Machine string  `json:"machine"`
	Seconds float64 `json:"seconds"`

	Topologies map[string]*Topology `json:"topologies"`

	Scenarios map[string]*Counts `json:"scenarios"`
	Found     []Finding          `json:"found"`
	Broken    []string           `json:"broken"` // what went wrong with the harness

	LeftOut map[string][]string `json:"left_out,omitempty"` // scenarios that this machine can't play, by the reason

	began time.Time
	plan  Plan
}

// Topology is the sum of its scenarios.
type Topology struct {
	Scenarios int `json:"scenarios"`
	Counts
	Least int `json:"least"`       // histories of a scenario
	Timed int `json:"least_timed"` // the same, of those whose times were checked
}

// Counts are sums over histories.
type Counts struct {
	Histories  int     `json:"histories"`
	Operations int     `json:"operations"` // attempts to lock
	Grants     int     `json:"grants"`
	Faults     int     `json:"faults"`       // that hit somebody
	Ended      int     `json:"ended"`        // leases that ended by their deadline in a process that ran
	Idle       float64 `json:"idle_seconds"` // the longest that a free name was idle while a living waiter asked for it
	Late       int     `json:"late"`         // of them, those whose context came more than 20 ms later
	Moments    int     `json:"moments"`      // when that was: those of one process that came together are one
	Slow       int     `json:"slow"`         // histories in which the machine was too busy for the checks of times
	Undecided  int     `json:"undecided"`    // names for which the search for an order of a lock took too long
	Violations int     `json:"violations"`

	Silent float64 `json:"silent_seconds,omitempty"` // the longest that TCP was silent when the faults of a history were over
}

// Finding is a history that broke a promise.
type Finding struct {
	Scenario   string   `json:"scenario"`
	Seed       uint64   `json:"seed"`
	Violations []string `json:"violations"`
	Directory  string   `json:"directory"`
	Replay     string   `json:"replay"`
}

func newReport(plan Plan) *Report {
	return &Report{
		Command: plan.Command, Date: time.Now().Format(time.DateOnly), Machine: host.WithServer(),
		Found: []Finding{}, Broken: []string{}, Topologies: map[string]*Topology{}, Scenarios: map[string]*Counts{}, LeftOut: plan.LeftOut, began: time.Now(), plan: plan,
	}
}

func (c *Counts) add(o Outcome) {
	slow := 0
	if o.Slow {
		slow = 1
	}
	c.sum(&Counts{
		Histories: 1, Operations: o.Operations, Grants: o.Grants, Faults: o.Faults, Ended: o.Ended, Idle: o.Idle.Seconds(), Late: o.Late,
		Moments: o.Moments, Slow: slow, Undecided: o.Undecided, Violations: len(o.Violations), Silent: o.Silent.Seconds(),
	})
}

func (c *Counts) sum(o *Counts) {
	c.Histories += o.Histories
	c.Operations += o.Operations
	c.Grants += o.Grants
	c.Faults += o.Faults
	c.Ended += o.Ended
	c.Idle = max(c.Idle, o.Idle)
	c.Late += o.Late
	c.Moments += o.Moments
	c.Slow += o.Slow
	c.Undecided += o.Undecided
	c.Violations += o.Violations
	c.Silent = max(c.Silent, o.Silent)
}

func (r *Report) add(o Outcome) {
	if o.Err != nil {
		r.Broken = append(r.Broken, o.Err.Error())
	}
	name := o.Scenario.String()
	if r.Scenarios[name] == nil {
		r.Scenarios[name] = &Counts{}
	}
	r.Counts.add(o)
	r.Scenarios[name].add(o)
	if len(o.Violations) > 0 || o.Err != nil {
		r.Found = append(r.Found, r.keep(o))
	} else if o.Undecided > 0 {
		r.keep(o)
	}
}

// keep writes down what shows a broken promise, or could not be decided.
func (r *Report) keep(o Outcome) Finding {
	f := Finding{Scenario: o.Scenario.String(), Seed: o.Seed}
	f.Replay = fmt.Sprintf("go test -count 1 -run '^TestVerify$' ./test/faults -args -scenario '^%s$' -seed %d -histories 1", f.Scenario, f.Seed)
	f.Directory = filepath.Join(r.plan.Failures, strings.ReplaceAll(f.Scenario, "/", "_")+fmt.Sprintf("-%d", f.Seed))
	if o.Err != nil {
		f.Violations = append(f.Violations, "harness: "+o.Err.Error())
	}
	for _, v := range o.Violations {
		f.Violations = append(f.Violations, v.String())
	}
	err := keep(f.Directory, f.Replay, o.Err, o.Violations, o.Events)
	for i, picture := range o.Pictures {
		if err == nil {
			err = os.WriteFile(filepath.Join(f.Directory, fmt.Sprintf("order%d.html", i)), picture, 0o600)
		}
	}
	if err != nil {
		r.Broken = append(r.Broken, err.Error())
	}
	return f
}

// keep writes a history, what is wrong with it and how to play it again into a directory.
func keep(dir, replay string, broken error, violations []check.Violation, events []history.Event) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", replay)
	if broken != nil {
		fmt.Fprintf(&text, "%v\n", broken)
	}
	for _, v := range violations {
		fmt.Fprintf(&text, "%v\n", v)
		for _, e := range v.Events {
			line, _ := json.Marshal(e)
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "violations.txt"), []byte(text.String()), 0o600); err != nil {
		return err
	}
	return history.Save(filepath.Join(dir, "history.jsonl"), events)
}

// finish adds up the scenarios of each topology.
func (r *Report) finish() *Report {
	r.Seconds = time.Since(r.began).Seconds()
	for scenario, c := range r.Scenarios {
		name, _, _ := strings.Cut(scenario, "/")
		t := r.Topologies[name]
		if t == nil {
			t = &Topology{Least: c.Histories, Timed: c.Histories - c.Slow}
			r.Topologies[name] = t
		}
		t.Scenarios++
		t.sum(c)
		t.Least, t.Timed = min(t.Least, c.Histories), min(t.Timed, c.Histories-c.Slow)
	}
	return r
}

// WriteFile writes what a test found to a file, as JSON.
func WriteFile(t testing.TB, name string, found any) {
	if name == "" {
		return
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// Table writes it for people.
func (r *Report) Table(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "scenario\thistories\tlocks asked\tgranted\tfaults\tended by deadline\tlate\tidle\tslow\tundecided\tviolations\t")
	for _, name := range slices.Sorted(maps.Keys(r.Scenarios)) {
		r.Scenarios[name].row(table, name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Topologies)) {
		t := r.Topologies[name]
		t.row(table, fmt.Sprintf("%s, %d scenarios", name, t.Scenarios))
	}
	r.row(table, fmt.Sprintf("all, %.0f s", r.Seconds))
	_ = table.Flush()
	for _, reason := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Fprintf(w, "not played, %s: %s\n", reason, strings.Join(r.LeftOut[reason], ", "))
	}
	fmt.Fprintf(w, "%d promises broken in %d histories; in %d of them the machine was too busy to check times; the harness failed in %d\n",
		r.Violations, r.Histories, r.Slow, len(r.Broken))
}

func (c *Counts) row(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f s\t%d\t%d\t%d\t\n", name, c.Histories, c.Operations, c.Grants, c.Faults, c.Ended, c.Late, c.Idle, c.Slow, c.Undecided, c.Violations)
}
