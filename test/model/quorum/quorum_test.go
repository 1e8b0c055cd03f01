package quorum_test

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/test/model"
	"github.com/holdfast-go/holdfast/test/model/quorum"
)

// Within the small bounds no state breaks an invariant, all states were looked
// at, and everything that steps can do was done.
func TestNothingBreaks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	done := map[string]int{}
	for _, b := range quorum.Small() {
		r := model.Search(&quorum.Model{Bounds: b}, model.Limits{Progress: os.Stderr, Name: b.Name, States: 1_000_000})
		t.Logf("%s: %d states, %d transitions, depth %d, %v", b.Name, r.States, r.Transitions, r.Depth, r.Took)
		if r.Broken != "" {
			model.WriteTrace(os.Stdout, r, quorum.Who)
			t.Errorf("%s: %s", b.Name, r.Broken)
		} else if !r.Whole {
			t.Errorf("%s: %d states, and there are more: not all were looked at", b.Name, r.States)
		}
		for label, n := range r.Counts {
			done[label] += n
		}
	}
	for label, n := range done {
		if n == 0 {
			t.Errorf("never happened: %s: what was not tried was not checked", label)
		}
	}
}

// Each guard that is taken out lets an invariant break, and the search finds it.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for _, f := range quorum.Finds() {
		t.Run(f.Guard, func(t *testing.T) {
			r := model.Search(&quorum.Model{Bounds: f.Bounds, Mutant: f.Mutant}, model.Limits{States: 1_000_000})
			t.Logf("%d states, %d steps, %v: %s", r.States, len(r.Trace), r.Took, r.Broken)
			if got, want := r.Broken, f.Broken; got != want {
				model.WriteTrace(os.Stdout, r, quorum.Who)
				t.Errorf("broken is %q, want %q", got, want)
			}
		})
	}
}
