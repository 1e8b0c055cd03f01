package check_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

func seen(at int64, value string) history.Event {
	return history.Event{T: at, What: history.Monitor, Process: "monitor", Name: "x", Detail: check.Seen + value, Deadline: at - 1}
}

// What stands in Redis is checked by who could have set it, and by who believes in
// it.
func TestKeys(t *testing.T) {
	failed := []history.Event{a.asked(5), a.ends(20, history.Failed, history.Unreachable)}
	holds := whole(a, 10, 150, 100)
	for _, test := range []struct {
		name   string
		check  func(*check.History, check.Rules) []check.Violation
		events record
		found  int
	}{
		{"released", check.Behind, join(whole(a, 10, 150, 100), []history.Event{seen(9, "A"), seen(151, "-")}), 0},
		{"cleaned up", check.Behind, join(failed, []history.Event{seen(10, "A"), seen(119, "-")}), 0},
		{"left", check.Behind, join(failed, []history.Event{seen(10, "A"), seen(221, "-")}), 1},
		{"left by another or given to this one", check.Behind, join(failed, whole(b, 12, 300, 7), []history.Event{seen(10, "A"), seen(301, "-")}), 0},
		{"held to the end", check.Deleted, join(holds, []history.Event{seen(9, "-"), seen(12, "A"), seen(152, "-")}), 0},
		{"deleted", check.Deleted, join(holds, []history.Event{seen(9, "-"), seen(12, "A"), seen(100, "-")}), 1},
		{"the one before", check.Deleted, join(whole(b, 1, 8, 1), holds, []history.Event{seen(1, "-"), seen(3, "B"), seen(11, "A"), seen(152, "-")}), 0},
	} {
		if got := test.check(test.events.read(), rules); len(got) != test.found {
			t.Errorf("%s: got %v, want %d", test.name, got, test.found)
		}
	}
	overtaken := join([]history.Event{a.asked(1)}, whole(b, 10, 50, 1), whole(c, 60, 90, 2), []history.Event{a.granted(100, 3, 300)})
	if n, longest := check.Overtaken(overtaken.read()); n != 2 || longest != 99*time.Millisecond {
		t.Errorf("got overtaken by %d, a wait of %v, want 2 and 99ms", n, longest)
	}
}
