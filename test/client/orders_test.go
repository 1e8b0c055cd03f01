//go:build unix

package client_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
)

// Full memory refuses no order, and no adoption.
func TestFullMemoryOrders(t *testing.T) {
	server, client := fullServer(t)
	holder, operator := client(holdfast.Options{TTL: 6 * time.Second}), client(holdfast.Options{})
	leases := map[string]*holdfast.Lease{}
	for _, name := range []string{"revoke", "steal", "take", "adopt"} {
		leases[name] = clienttest.Take(t, holder, name)
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
	if _, err := admin.Of(operator).Revoke(t.Context(), "revoke", clienttest.HashOf(t, operator, "revoke"), "full"); err != nil {
		t.Errorf("Revoke with full memory: %v", err)
	}
	if err := admin.Of(operator).Steal(t.Context(), "steal", clienttest.HashOf(t, operator, "steal"), "full"); err != nil {
		t.Errorf("Steal with full memory: %v", err)
	} else if next := <-got; next != nil {
		clienttest.GiveBack(t, next)
	}
	if thief, err := operator.Mutex("take").Steal(t.Context(), clienttest.HashOf(t, operator, "take"), "full"); err != nil {
		t.Errorf("Mutex.Steal with full memory: %v", err)
	} else {
		clienttest.GiveBack(t, thief)
	}
	text, err := leases["adopt"].Export()
	if err != nil {
		t.Fatalf("Export with full memory: %v", err)
	}
	adopted, err := operator.Adopt(t.Context(), text)
	if err != nil {
		t.Fatalf("Adopt with full memory: %v", err)
	}
	clienttest.GiveBack(t, adopted)
	for _, name := range []string{"revoke", "steal", "take"} {
		clienttest.Eventually(t, name+" ends the lease", func() bool { return leases[name].Err() != nil })
		if err := leases[name].Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release: %v", err)
		}
	}
}

// On a quorum nobody steals and there are no exports, and that is said at once;
// EnsureHeld and CheckHeld ask a majority.
func TestQuorumHolders(t *testing.T) {
	t.Parallel()
	d := clienttest.Deploy(t, 3)
	client := d.Client(holdfast.QuorumOptions{TTL: 10 * time.Second})
	lease := clienttest.Take(t, client, "n")
	if err := lease.EnsureHeld(t.Context()); err != nil {
		t.Errorf("EnsureHeld: %v", err)
	}
	for i, left := range []time.Duration{10 * time.Second, 10 * time.Second, 2 * time.Second} { // the least of a majority counts
		if i > 0 {
			d.Servers[i].MustDo(t, "PEXPIRE", "holdfast:n", 2000)
		}
		if got, err := lease.CheckHeld(t.Context()); err != nil || got > left || got < left/10 {
			t.Errorf("CheckHeld with %d lives cut: %v, %v; want at most %v", i, got, err, left)
		}
	}
	_, export := lease.Export()
	_, take := client.Mutex("n").Steal(t.Context(), "0123456789", "x")
	for what, err := range map[string]error{"Mutex.Steal": take, "Export": export} {
		if err == nil || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("%s: got %v, want that it does not work on a quorum", what, err)
		}
	}
	for _, i := range []int{0, 1} {
		if err := d.Servers[i].Freeze(); err != nil {
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
		if err := d.Servers[i].Thaw(); err != nil {
			t.Fatal(err)
		}
	}
	clienttest.GiveBack(t, lease)
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
	text, err := clienttest.Take(t, client, "invoice: 42").Export()
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
	clienttest.GiveBack(t, adopted)
}
