package check_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

// An order of a lock is found where there is one, with ends that nobody knows,
// and a picture is drawn where there is none.
func TestLinear(t *testing.T) {
	unknown := whole(a, 10, 50, 100)
	unknown[3].Class = history.Unknown // released or not: it may end at any time from then on
	for _, test := range []struct {
		name   string
		events record
		found  int
	}{
		{"one after the other", join(whole(a, 10, 50, 100), whole(b, 60, 90, 200)), 0},
		{"a release of unknown end", join(unknown, whole(b, 60, 90, 200)), 0},
		{"two at a time", join(whole(a, 10, 50, 100), whole(b, 45, 90, 200)), 1},
		{"a token from before, granted after", join(whole(a, 60, 90, 100), []history.Event{a.asked(1)}, whole(b, 10, 50, 200)), 1},
		{"the dead until its deadline", join(whole(a, 10, 50, 100)[:2], whole(b, 200, 220, 200)), 1},
		{"the dead after it", join(whole(a, 10, 50, 100)[:2], whole(b, 215, 220, 200)), 0},
	} {
		drawn := 0
		found, undecided := check.Linear(test.events.read(), rules, time.Minute, func(string, porcupine.LinearizationInfo, porcupine.Model) { drawn++ })
		if len(found) != test.found || drawn != test.found || undecided != 0 {
			t.Errorf("%s: got %v, %d drawn, %d undecided, want %d", test.name, found, drawn, undecided, test.found)
		}
	}
}

// Who believes has the name in Redis, by what the server did.
func TestBelieved(t *testing.T) {
	did := func(at int64, what, owner string, life int64) history.Event {
		return history.Event{T: at, What: history.Monitor, Process: owner, Name: "x", Detail: what, Version: life * ms}
	}
	lease := whole(a, 10, 50, 100)
	long := whole(a, 10, 250, 100)
	long = append(long, history.Event{T: 110, Process: "A", What: history.Renewed, Attempt: 1, Name: "x", Deadline: 300})
	for _, test := range []struct {
		name   string
		events record
		found  int
	}{
		{"held", join(lease, []history.Event{did(8, "set", "A", 200), did(51, "end", "-", 0)}), 0},
		{"nobody looked", lease, 0},
		{"ended before", join(lease, []history.Event{did(8, "set", "A", 200), did(40, "end", "-", 0)}), 1},
		{"given to another", join(lease, []history.Event{did(8, "set", "A", 200), did(40, "set", "B", 200)}), 1},
		{"another tried", join(lease, []history.Event{did(8, "set", "A", 200), did(40, "set if free", "B", 200)}), 0},
		{"another got it", join(lease, []history.Event{did(8, "set", "A", 200), did(30, "end", "-", 0), did(40, "set if free", "B", 200)}), 1},
		{"another got it when it had expired", join(long, []history.Event{did(8, "set", "A", 100), did(120, "set if free", "B", 200)}), 1},
		{"expired", join(long, []history.Event{did(8, "set", "A", 200), did(300, "end", "-", 0)}), 1},
		{"prolonged", join(long, []history.Event{did(8, "set", "A", 200), did(105, "prolong", "-", 200), did(300, "end", "-", 0)}), 0},
		{"a gap in what was seen", join(long, []history.Event{did(8, "set", "A", 200), {T: 205, What: history.Gap, Deadline: 100}, did(300, "end", "-", 0)}), 0},
		{"a gap, and nothing after it", join(long, []history.Event{did(8, "set", "A", 200), {T: 205, What: history.Gap, Deadline: 100}}), 0},
	} {
		if got := check.Believed(test.events.read(), rules); len(got) != test.found {
			t.Errorf("%s: got %v, want %d", test.name, got, test.found)
		}
	}
}

// A process that kills itself at a step does not wait until the controller has noted it.
func TestKilledAtAStep(t *testing.T) {
	for step, want := range map[string]int{"after-send": 0, "another": 1} {
		events := join([]history.Event{a.asked(1), {T: 2, Process: "A", What: history.Step, Detail: step}})
		for i := range int64(15) {
			w := b
			w.attempt += i
			events = append(events, whole(w, 10+20*i, 15+20*i, 100*i)...)
		}
		events = append(events, history.Event{T: 900, Process: "A", What: history.Crash, Detail: "after-send"})
		r := check.Rules{TTL: time.Second, Calm: true, Polled: true}
		if found := check.InOrder(events.read(), r); len(found) != want {
			t.Errorf("killed after it had passed the step %q: got %v, want %d", step, found, want)
		}
	}
}
