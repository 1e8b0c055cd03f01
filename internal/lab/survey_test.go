//go:build unix

package lab_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// codesOf are the codes of each name, most serious first.
func codesOf(t *testing.T, client *holdfast.Client) map[string][]holdfast.Code {
	t.Helper()
	s, err := client.Survey(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]holdfast.Code{}
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
	watcher := open(t, server.URL(), holdfast.Options{Owner: "W"})
	if got := codesOf(t, watcher)[name]; !slices.Equal(got, []holdfast.Code{holdfast.CodeHeldHealthy}) {
		t.Errorf("at first: got %q, want held-healthy", got)
	}
	processes[0].freeze()
	var seen []holdfast.Code
	eventually(t, "B has the name", func() bool {
		if codes := codesOf(t, watcher)[name]; len(codes) > 0 && !slices.Contains(seen, codes[0]) {
			seen = append(seen, codes[0])
		}
		return holder(t, server, name) == "B"
	})
	processes[0].thaw()
	calls[1].held()
	want := []holdfast.Code{holdfast.CodeHeldHealthy, holdfast.CodeRenewalsLate, holdfast.CodeExpiring}
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
	watcher := open(t, server.URL(), holdfast.Options{Owner: "W"})
	eventually(t, "the circle is told on both names", func() bool {
		codes := codesOf(t, watcher)
		return slices.Contains(codes["x"], holdfast.CodePossibleDeadlock) && slices.Contains(codes["y"], holdfast.CodePossibleDeadlock)
	})
	processes[0].kill()
	other.held()
	for name, codes := range codesOf(t, watcher) {
		if slices.Contains(codes, holdfast.CodePossibleDeadlock) {
			t.Errorf("%s: got %q after one was killed, want no circle", name, codes)
		}
	}
	other.release()
	y.release()
}

// Names and details lie in all slots of a Cluster, and both drivers find them.
func TestSurveyOfACluster(t *testing.T) {
	t.Parallel()
	nodes := cluster(redistest.Cluster(t, 3, 0))
	const names = 60
	for i, d := range drivers {
		client := holdfast.New(d.open(t, nodes.url(), way{}), &holdfast.Options{
			Owner: fmt.Sprint("C", i), TTL: long, Details: &holdfast.Details{User: fmt.Sprint("user", i)},
		})
		t.Cleanup(func() { _ = client.Close() })
		for n := range names {
			take(t, client, fmt.Sprintf("n%d-%d", i, n))
		}
	}
	for _, client := range nodes.clients(t, 0, "A", "B") {
		eventually(t, "all names are seen with details", func() bool {
			s, err := client.Survey(t.Context(), "n")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := s.Counts.Held, names*len(drivers); got != want || len(s.Names) != want {
				t.Fatalf("got %d held of %d names, want %d", got, len(s.Names), want)
			}
			for _, n := range s.Names {
				if d := n.Holder.Details; d == nil || d.User != "user"+n.Name[1:2] {
					return false
				}
			}
			return true
		})
	}
}

// A quorum's names are surveyed with a node down, too. It has no details, and says so.
func TestSurveyOfAQuorum(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3)
	func() {
		defer func() {
			if said := fmt.Sprint(recover()); !strings.Contains(said, "Options.Details do not work on a quorum") {
				t.Errorf("with details: got %s, want that they do not work", said)
			}
		}()
		d.client(holdfast.Options{Details: &holdfast.Details{User: "alice"}})
	}()
	a := d.client(holdfast.Options{Owner: "me:1"})
	d.servers[2].Kill()
	for i := range 40 {
		lease, err := lockIn(t, a, fmt.Sprintf("q%02d", i), patience)
		if err != nil {
			t.Fatal(err)
		}
		defer giveBack(t, lease)
	}
	s, err := a.Survey(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Counts; got.Held != 40 || got.Codes[holdfast.CodeHeldHealthy] != 40 {
		t.Errorf("got %+v, want 40 held and healthy", got)
	}
}

// What docs/guide/08-operating.md says of a user of some names is enough to hold one for longer
// than its ttl and to look at it; of orders and terms such a user sees what it may.
func TestRightsOfSomeNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("For some names only, replace both key patterns by `([^`]+)`").FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/guide/08-operating.md does not say what a user of some names needs")
	}
	book := &logbook{}
	server, url := limited(t, string(found[1])+" &holdfast/wake:* +@all")
	client := open(t, url, holdfast.Options{Owner: "A", TTL: 3 * time.Second, Logger: book.logger(), Details: &holdfast.Details{User: "alice"}})
	lease := take(t, client, "web:1")
	time.Sleep(7 * time.Second)
	if err := lease.Err(); err != nil {
		t.Fatalf("after two ttls: %v", err)
	}
	state, err := client.Inspect(t.Context(), "web:1")
	if err != nil || state.Holder == nil || state.Holder.Details != nil {
		t.Fatalf("got %+v, %v, want a holder without details", state, err)
	}
	if state.Unreadable == nil || !strings.Contains(state.Unreadable.Error(), "NOPERM") {
		t.Errorf("what is not seen: got %v, want that the server refuses the term", state.Unreadable)
	}
	if got := strings.Count(book.String(), "could not write Options.Details"); got != 1 {
		t.Errorf("the log has %d lines about details, want 1:\n%s", got, book)
	}
	giveBack(t, lease)
	if got := server.MustDo(t, "EXISTS", keyL("web:1")); got != "0" {
		t.Errorf("after the release L exists: %s", got)
	}
}
