//go:build unix

package lab_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// hashOf names the tenure that holds a name.
func hashOf(t *testing.T, c *holdfast.Client, name string) string {
	t.Helper()
	state, err := c.Inspect(t.Context(), name)
	if err != nil || state.Holder == nil {
		t.Fatalf("Inspect: got %+v, %v, want a holder", state, err)
	}
	return state.Holder.Hash
}

// A holder is frozen, and somebody steals the name from it: the next process has
// it long before the ttl ends. When the frozen one wakes up, long before its own
// deadline, it learns that and why, and leaves alone what is another's now.
func TestProcessStolenWhileFrozen(t *testing.T) {
	t.Parallel()
	const name, ttl = "stolen-frozen", 20 * time.Second
	server := redistest.Start(t, redistest.Options{})
	operator := open(t, server.URL(), holdfast.Options{Owner: "operator"})
	for i, d := range drivers { // each has it stolen once
		t.Run(d.name, func(t *testing.T) {
			processes := startProcesses(t, server, ttl, "A", "B")
			processes[0], processes[i] = processes[i], processes[0]
			calls := contend(t, server, name, processes)
			first := calls[0].held()
			holderListens(t, server, name) // unheard it would take a third of the ttl
			calls[0].about("watch")
			processes[0].freeze()
			if err := operator.Steal(t.Context(), name, hashOf(t, operator, name), "it hangs"); err != nil {
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
	operator := open(t, server.URL(), holdfast.Options{Owner: "operator"})
	processes := startProcesses(t, server, 20*time.Second, "A", "B")
	calls := contend(t, server, name, processes)
	calls[0].held()
	calls[0].about("watch")
	if _, err := operator.Revoke(t.Context(), name, hashOf(t, operator, name), "maintenance"); err != nil {
		t.Fatalf("Revoke: %v", err)
	}
	if end := calls[0].lost("watched"); end.Cause != holdfast.Revoked {
		t.Errorf("the revoked one: got cause %q (%s), want %q", end.Cause, end.Err, holdfast.Revoked)
	}
	if got := holder(t, server, name); got != "A" || !calls[1].pending() {
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
	if got := holder(t, server, name); got != "B" || !calls[1].pending() {
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
	word := "holdfast/revoked:{" + keyL(name) + "}" // that it was adopted
	if left, err := strconv.Atoi(server.MustDo(t, "PTTL", word)); err != nil || left <= 0 {
		t.Errorf("%s lives for %d ms more, %v; want an expiry", word, left, err)
	}
	server.MustDo(t, "DEL", word)
	nothingLeft(t, server, name)
}

// Full memory refuses no order, and no adoption.
func TestFullMemoryOrders(t *testing.T) {
	server, client := fullServer(t)
	holder, operator := client(holdfast.Options{TTL: 6 * time.Second}), client(holdfast.Options{})
	leases := map[string]*holdfast.Lease{}
	for _, name := range []string{"revoke", "steal", "take", "adopt"} {
		leases[name] = take(t, holder, name)
	}
	got := make(chan *holdfast.Lease, 1)
	go func() {
		next, err := operator.Mutex("steal").Lock(t.Context())
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- next
	}()
	queueLength(t, server, "steal", "1")
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	if _, err := operator.Revoke(t.Context(), "revoke", hashOf(t, operator, "revoke"), "full"); err != nil {
		t.Errorf("Revoke with full memory: %v", err)
	}
	if err := operator.Steal(t.Context(), "steal", hashOf(t, operator, "steal"), "full"); err != nil {
		t.Errorf("Steal with full memory: %v", err)
	} else if next := <-got; next != nil {
		giveBack(t, next)
	}
	if thief, err := operator.Mutex("take").Steal(t.Context(), hashOf(t, operator, "take"), "full"); err != nil {
		t.Errorf("Mutex.Steal with full memory: %v", err)
	} else {
		giveBack(t, thief)
	}
	text, err := leases["adopt"].Export()
	if err != nil {
		t.Fatalf("Export with full memory: %v", err)
	}
	adopted, err := operator.Adopt(t.Context(), text)
	if err != nil {
		t.Fatalf("Adopt with full memory: %v", err)
	}
	giveBack(t, adopted)
	for _, name := range []string{"revoke", "steal", "take"} {
		eventually(t, name+" ends the lease", func() bool { return leases[name].Err() != nil })
		if err := leases[name].Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release: %v", err)
		}
	}
}

// On a quorum there are no orders and no exports, and that is said at once;
// EnsureHeld and CheckHeld ask a majority.
func TestQuorumHolders(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3)
	client := d.client(holdfast.Options{TTL: 10 * time.Second})
	lease := take(t, client, "n")
	if err := lease.EnsureHeld(t.Context()); err != nil {
		t.Errorf("EnsureHeld: %v", err)
	}
	for i, left := range []time.Duration{10 * time.Second, 10 * time.Second, 2 * time.Second} { // the least of a majority counts
		if i > 0 {
			d.servers[i].MustDo(t, "PEXPIRE", "holdfast:n", 2000)
		}
		if got, err := lease.CheckHeld(t.Context()); err != nil || got > left || got < left/10 {
			t.Errorf("CheckHeld with %d lives cut: %v, %v; want at most %v", i, got, err, left)
		}
	}
	exported, err := take(t, open(t, redistest.Start(t, redistest.Options{}).URL(), holdfast.Options{}), "n").Export()
	if err != nil {
		t.Fatal(err)
	}
	_, revoke := client.Revoke(t.Context(), "n", hashOf(t, client, "n"), "x")
	_, export := lease.Export()
	_, adopt := client.Adopt(t.Context(), exported)
	_, take := client.Mutex("n").Steal(t.Context(), hashOf(t, client, "n"), "x")
	for what, err := range map[string]error{"Mutex.Steal": take, "Revoke": revoke, "Steal": client.Steal(t.Context(), "n", hashOf(t, client, "n"), "x"), "Export": export, "Adopt": adopt} {
		if err == nil || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("%s: got %v, want that it does not work on a quorum", what, err)
		}
	}
	for _, i := range []int{0, 1} {
		if err := d.servers[i].Freeze(); err != nil {
			t.Fatal(err)
		}
	}
	if err := lease.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("EnsureHeld without a majority: got %v, want ErrUnreachable", err)
	}
	if _, err := lease.CheckHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("CheckHeld without a majority: got %v, want ErrUnreachable", err)
	}
	for _, i := range []int{0, 1} {
		if err := d.servers[i].Thaw(); err != nil {
			t.Fatal(err)
		}
	}
	giveBack(t, lease)
}

// The text of an export survives what mail and shells do to it, or is refused;
// and a Client with another prefix says so.
func TestExportText(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	client := holdfast.New(store, &holdfast.Options{Owner: "ä b"})
	t.Cleanup(func() { _ = client.Close() })
	other := holdfast.New(store, &holdfast.Options{Prefix: "other:"})
	t.Cleanup(func() { _ = other.Close() })
	text, err := take(t, client, "invoice: 42").Export()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^holdfast1-[A-Za-z0-9_-]+$`).MatchString(text) {
		t.Errorf("the text is %q, want one word of letters, digits, - and _", text)
	}
	if _, err := other.Adopt(t.Context(), text); err == nil || !strings.Contains(err.Error(), `prefix "holdfast:"`) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Adopt under another prefix: got %v, want an error about the prefix", err)
	}
	for i := range len(text) {
		flipped := text[:i] + string(text[i]^1) + text[i+1:]
		for _, bad := range []string{text[:i], flipped} {
			if _, err := client.Adopt(t.Context(), bad); err == nil || errors.Is(err, holdfast.ErrLost) {
				t.Fatalf("Adopt of %q: got %v, want that it is no export", bad, err)
			}
		}
	}
	adopted, err := client.Adopt(t.Context(), "\t"+text+" \n")
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if got := adopted.Name(); got != "invoice: 42" {
		t.Errorf("adopted %q, want invoice: 42", got)
	}
	giveBack(t, adopted)
}
