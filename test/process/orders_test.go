//go:build unix

package process_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A holder is frozen, and somebody steals the name from it: the next process has
// it long before the ttl ends. When the frozen one wakes up, long before its own
// deadline, it learns that and why, and leaves alone what is another's now.
func TestProcessStolenWhileFrozen(t *testing.T) {
	t.Parallel()
	const name, ttl = "stolen-frozen", 20 * time.Second
	server := redistest.Start(t, redistest.Options{})
	operator := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "operator"})
	for i, d := range clienttest.Drivers { // each has it stolen once
		t.Run(d.Name, func(t *testing.T) {
			processes := startProcesses(t, server, ttl, "A", "B")
			processes[0], processes[i] = processes[i], processes[0]
			calls := contend(t, server, name, processes)
			first := calls[0].held()
			holderListens(t, server, name) // unheard it would take a third of the ttl
			calls[0].about("watch")
			processes[0].freeze()
			if err := admin.Of(operator).Steal(t.Context(), name, clienttest.HashOf(t, operator, name), "it hangs"); err != nil {
				t.Fatalf("Steal: %v", err)
			}
			second := calls[1].within(ttl / 2)
			if second.Err != "" {
				t.Fatalf("the next: got %s, want a lease", second.Err)
			}
			rises(t, first, second)
			time.Sleep(2 * time.Second) // of the 20
			processes[0].thaw()
			end := calls[0].lost("watched")
			if end.Cause != holdfast.Stolen {
				t.Errorf("the stolen one: got cause %q (%s), want %q", end.Cause, end.Err, holdfast.Stolen)
			}
			if end.Took > 2*time.Second {
				t.Errorf("the context ended %v after waking up, want it long before the next renewal", end.Took)
			}
			calls[0].lost("release")
			renewed(t, calls[1]) // by now the late release has done what it can
			calls[1].release()
		})
	}
}

// A holder that is asked to stop tells its work, and the name is given on by its
// release. Several drivers.
func TestProcessRevoked(t *testing.T) {
	const name = "revoked"
	server := redistest.Start(t, redistest.Options{})
	operator := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "operator"})
	processes := startProcesses(t, server, 20*time.Second, "A", "B")
	calls := contend(t, server, name, processes)
	calls[0].held()
	calls[0].about("watch")
	if _, err := admin.Of(operator).Revoke(t.Context(), name, clienttest.HashOf(t, operator, name), "maintenance"); err != nil {
		t.Fatalf("Revoke: %v", err)
	}
	if end := calls[0].lost("watched"); end.Cause != holdfast.Revoked {
		t.Errorf("the revoked one: got cause %q (%s), want %q", end.Cause, end.Err, holdfast.Revoked)
	}
	if got := clienttest.Holder(t, server, name); got != "A" || !calls[1].pending() {
		t.Errorf("before the release: got the name with %q, want A", got)
	}
	calls[0].lost("release")
	calls[1].held()
	calls[1].release()
}

// A process exports its lease and dies at once. Another goes on with it, while a
// third waits, and the name is the third's only after that.
func TestProcessExporterIsKilled(t *testing.T) {
	const name = "exported"
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 10*time.Second, "A", "B", "C")
	calls := contend(t, server, name, []*process{processes[0], processes[2]})
	first := calls[0].held()
	exported := calls[0].about("export")
	if exported.Err != "" || exported.Text == "" {
		t.Fatalf("export: got %q, %s", exported.Text, exported.Err)
	}
	processes[0].kill()
	adopted := processes[1].order(order{Do: "adopt", Text: exported.Text})
	second := adopted.held()
	rises(t, first, second)
	if got := clienttest.Holder(t, server, name); got != "B" || !calls[1].pending() {
		t.Errorf("after the adoption: got the name with %q, want B", got)
	}
	late := processes[2].order(order{Do: "adopt", Text: exported.Text}).wait()
	if !late.Lost {
		t.Errorf("a second adoption: got %q, want ErrLost", late.Err)
	}
	renewed(t, adopted)
	adopted.release()
	rises(t, second, calls[1].held())
	calls[1].release()
	word := "holdfast/revocation:{" + clienttest.LockKey(name) + "}" // that it was adopted
	if left, err := strconv.Atoi(server.MustDo(t, "PTTL", word)); err != nil || left <= 0 {
		t.Errorf("%s lives for %d ms more, %v; want an expiry", word, left, err)
	}
	server.MustDo(t, "DEL", word)
	clienttest.NothingLeft(t, server, name)
}
