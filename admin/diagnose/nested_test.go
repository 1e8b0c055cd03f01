package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// within sets the outer command of processes, in pairs: "nested outer".
func within(states []*admin.State, pairs ...string) []*admin.State {
	for i := 0; i < len(pairs); i += 2 {
		d := &holdfast.Details{Parent: "c" + pairs[i+1]}
		for _, s := range states {
			if s.Holder.Owner == pairs[i] {
				s.Holder.Details = d
			}
			for j := range s.Waiters {
				if s.Waiters[j].Owner == pairs[i] {
					s.Waiters[j].Details = d
				}
			}
		}
	}
	return states
}

// An outer command waits for its nested commands, over any number of levels. A false claim of a
// process changes nothing.
func TestDiagnoseNested(t *testing.T) {
	long := time.Minute
	for what, test := range map[string]struct {
		states []*admin.State
		in     string // names in a circle
		says   string
	}{
		"two": {
			within([]*admin.State{named("x", "a", long, "b2"), named("y", "b", long, "a2")}, "a2", "a", "b2", "b"),
			"x y", "a holds x, and a2 in its command waits for y; b holds y, and b2 in its command waits for x",
		},
		"two, for a moment": {
			within([]*admin.State{named("x", "a", long, "b2"), named("y", "b", time.Second, "a2")}, "a2", "a", "b2", "b"), "", "",
		},
		"one is not nested": {
			within([]*admin.State{named("x", "a", long, "b"), named("y", "b", long, "a2")}, "a2", "a"),
			"x y", "a holds x, and a2 in its command waits for y; b holds y and waits for x",
		},
		"itself, at once": {
			within([]*admin.State{named("x", "a", time.Millisecond, "a2")}, "a2", "a"),
			"x", "a holds x, and a2 in its command waits for x",
		},
		"three levels": {
			within([]*admin.State{named("x", "a", time.Millisecond, "a3"), named("y", "a2", long)}, "a2", "a", "a3", "a2"),
			"x", "a holds x, and a3 in its command waits for x",
		},
		"three levels, and another": {
			within([]*admin.State{named("x", "a", long, "b"), named("y", "a2", long), named("z", "b", long, "a3")}, "a2", "a", "a3", "a2"),
			"x z", "a holds x, and a3 in its command waits for z; b holds z and waits for x",
		},
		"siblings": {
			within([]*admin.State{named("x", "a", long, "b"), named("y", "a2", long, "a3")}, "a2", "a", "a3", "a"), "", "",
		},
		"the outer command has ended": {
			within([]*admin.State{named("x", "a", long, "b2"), named("y", "b", long, "a2")}, "a2", "old", "b2", "b"), "", "",
		},
		"each in the other": {
			within([]*admin.State{named("x", "a", long, "c"), named("y", "a2", long, "d")}, "a2", "a", "a", "a2"), "", "",
		},
		"in itself": {
			within([]*admin.State{named("x", "a", long, "b"), named("y", "b", long, "c")}, "b", "b"), "", "",
		},
		"another permit comes": {
			within([]*admin.State{shared("x", "a2", "a", "c")}, "a2", "a"), "", "",
		},
		"no other permit": {
			within([]*admin.State{shared("x", "a2", "a")}, "a2", "a"),
			"x", "a holds x, and a2 in its command waits for x",
		},
	} {
		t.Run(what, func(t *testing.T) {
			var in []string
			for _, n := range survey(test.states...).Names {
				if d := n.Problem(); d != nil && d.Code == diagnose.PossibleDeadlock {
					in = append(in, n.Name)
					if !strings.Contains(d.Sentence, test.says) || !strings.Contains(d.Action, "outer command waits for") {
						t.Errorf("got %+v, want %q", *d, test.says)
					}
				}
			}
			if got := strings.Join(in, " "); got != test.in {
				t.Errorf("in a circle: got %q, want %q", got, test.in)
			}
		})
	}
}
