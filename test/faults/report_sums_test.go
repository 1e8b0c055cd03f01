//go:build linux

package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/inject"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

// Text and JSON have the sums of all histories, of each scenario and of each topology, and
// no broken promise is missing from them.
func TestReportAddsUp(t *testing.T) {
	in := func(kind topology.Kind, fault string) Scenario {
		return Scenario{Topology: kind, Fault: &inject.Fault{Name: fault}}
	}
	dir := t.TempDir()
	r := newReport(Plan{Failures: dir, LeftOut: map[string][]string{"no netem": {"netns/line-slow"}}})
	r.add(Outcome{Scenario: in("aof", "none"), Operations: 500, Grants: 400, Ended: 5, Late: 1, Moments: 1, Idle: time.Second})
	r.add(Outcome{Scenario: in("aof", "none"), Operations: 100, Slow: true, Silent: 2 * time.Second})
	r.add(Outcome{Scenario: in("aof", "flushall"), Operations: 7, Faults: 2, Seed: 3, Violations: []check.Violation{{Checker: "exclusion", Text: "two hold"}}})
	r.add(Outcome{Scenario: in("cluster", "none"), Operations: 1, Undecided: 1})
	r.finish()
	file := filepath.Join(dir, "result.json")
	WriteFile(t, file, r)
	var got struct {
		Counts
		Topologies map[string]Topology
		Scenarios  map[string]Counts
		Found      []Finding
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	none := Counts{Histories: 2, Operations: 600, Grants: 400, Ended: 5, Late: 1, Moments: 1, Slow: 1, Idle: 1, Silent: 2}
	if got.Scenarios["aof/none"] != none {
		t.Errorf("aof/none: got %+v, want %+v", got.Scenarios["aof/none"], none)
	}
	aof := none
	aof.Histories, aof.Operations, aof.Faults, aof.Violations = 3, 607, 2, 1
	if want := (Topology{Scenarios: 2, Counts: aof, Least: 1, Timed: 1}); got.Topologies["aof"] != want {
		t.Errorf("aof: got %+v, want %+v", got.Topologies["aof"], want)
	}
	all := aof
	all.Histories, all.Operations, all.Undecided = 4, 608, 1
	if got.Counts != all {
		t.Errorf("all: got %+v, want %+v", got.Counts, all)
	}
	if len(got.Found) != 1 || got.Found[0].Seed != 3 || got.Found[0].Violations[0] != "exclusion: two hold" {
		t.Errorf("found: got %+v, want the broken promise", got.Found)
	}
	if _, err := os.Stat(filepath.Join(dir, "aof_flushall-3", "violations.txt")); err != nil {
		t.Error(err)
	}
	var table strings.Builder
	r.Table(&table)
	for _, want := range []string{"aof, 2 scenarios", "1 promises broken in 4 histories", "not played, no netem: netns/line-slow"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table has not %q:\n%s", want, table.String())
		}
	}
}
