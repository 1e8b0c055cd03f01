package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A run that fails becomes a short one that fails in the same way: here a
// renewal that runs twice deletes the lock. What is left is the call that holds,
// its process, the renewal, and next to nothing else.
func TestShrink(t *testing.T) {
	oneThread(t)
	faulty := cast{name: "faulty", play: ofRun(func(seed uint64, plan *sim.Plan) *sim.Run {
		s := sim.NewRun(seed, plan)
		s.Bug = func(call driver.Call) {
			if call.Script.Name == "renew" {
				s.Do("DEL", call.Keys[0])
			}
		}
		return s
	})}
	n := uint64(1)
	out := perform(t, faulty, n, nil)
	for ; len(out.broken) == 0; n += uint64(sim.Kinds) { // the lossy ones
		if n > 200 {
			t.Fatal("no run finds it")
		}
		out = perform(t, faulty, n+uint64(sim.Kinds), nil)
	}
	short := shrunk(t, faulty, n, out, 300)
	t.Logf("seed %d: %q\n%s", n, short.happened, short.history)
	if was, is := len(out.happened), len(short.happened); is > 6 || is >= was {
		t.Errorf("%d items became %d, want at most 6: %q", was, is, short.happened)
	}
	if !slices.ContainsFunc(short.happened, func(item string) bool {
		return strings.HasPrefix(item, "twice:") && strings.Contains(item, ".renew.")
	}) {
		t.Errorf("the renewal that runs twice is not among %q", short.happened)
	}
	if same := perform(t, faulty, n, short.happened); len(same.broken) == 0 {
		t.Errorf("played again, %q breaks nothing", short.happened)
	}
	if none := perform(t, faulty, n, []string{}); len(none.broken) > 0 {
		t.Errorf("a run of nothing breaks %q", none.broken)
	}
}

// Shrink finds the two items of a hundred that it takes, and plays no more than
// it may.
func TestShrinkPlan(t *testing.T) {
	var items []string
	for i := range 100 {
		items = append(items, "c"+itoa(int64(i%7))+":"+itoa(int64(i)))
	}
	for _, tries := range []int{200, 3} {
		plays := 0
		got := sim.Shrink(items, tries, func(keep []string) ([]string, bool) {
			plays++
			return keep, slices.Contains(keep, items[13]) && slices.Contains(keep, items[77])
		})
		if plays > tries {
			t.Errorf("%d plays, want at most %d", plays, tries)
		}
		if want := []string{items[13], items[77]}; tries == 200 && !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
