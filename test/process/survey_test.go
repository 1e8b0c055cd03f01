//go:build unix

package process_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// codesOf are the codes of each name, most serious first.
func codesOf(t *testing.T, client *holdfast.Client) map[string][]diagnose.Code {
	t.Helper()
	survey, err := admin.Of(client).Survey(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := diagnose.Survey(survey, nil)
	all := map[string][]diagnose.Code{}
	for _, n := range s.Names {
		all[n.Name] = nil
		for _, d := range n.Reasons {
			all[n.Name] = append(all[n.Name], d.Code)
		}
	}
	return all
}

// A holder that is frozen is healthy, then late, then about to lose the name, and then
// another has it: in this order, and the first two say nothing else.
func TestSurveyFrozenHolder(t *testing.T) {
	t.Parallel()
	const name, ttl = "surveyed", 8 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	calls := contend(t, server, name, processes)
	calls[0].held()
	watcher := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "W"})
	if got := codesOf(t, watcher)[name]; !slices.Equal(got, []diagnose.Code{diagnose.HeldHealthy}) {
		t.Errorf("at first: got %q, want held-healthy", got)
	}
	processes[0].freeze()
	var seen []diagnose.Code
	clienttest.Eventually(t, "B has the name", func() bool {
		if codes := codesOf(t, watcher)[name]; len(codes) > 0 && !slices.Contains(seen, codes[0]) {
			seen = append(seen, codes[0])
		}
		return clienttest.Holder(t, server, name) == "B"
	})
	processes[0].thaw()
	calls[1].held()
	want := []diagnose.Code{diagnose.HeldHealthy, diagnose.RenewalsLate, diagnose.Expiring}
	if len(seen) < 3 || !slices.Equal(seen[:3], want) {
		t.Errorf("got %q, want %q", seen, want)
	}
	calls[1].release()
	calls[0].lost("release")
}

// Two processes that wait for each other are told; when one is killed the other goes on
// and there is no circle any more.
func TestSurveyDeadlockOfProcesses(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	x, y := processes[0].lock("x"), processes[1].lock("y")
	x.held()
	y.held()
	processes[0].lock("y")
	other := processes[1].lock("x")
	watcher := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "W"})
	clienttest.Eventually(t, "the circle is told on both names", func() bool {
		codes := codesOf(t, watcher)
		return slices.Contains(codes["x"], diagnose.PossibleDeadlock) && slices.Contains(codes["y"], diagnose.PossibleDeadlock)
	})
	processes[0].kill()
	other.held()
	for name, codes := range codesOf(t, watcher) {
		if slices.Contains(codes, diagnose.PossibleDeadlock) {
			t.Errorf("%s: got %q after one was killed, want no circle", name, codes)
		}
	}
	other.release()
	y.release()
}
