package lab_test

import (
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// What a Semaphore or an RWMutex holds can be neither revoked nor stolen: that is said,
// and the holder keeps it.
func TestOrdersAreNotForSharedKinds(t *testing.T) {
	t.Parallel()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()
	lease, err := client.RWMutex("index").RLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := client.Inspect(t.Context(), "index")
	if err != nil {
		t.Fatal(err)
	}
	const want = " works for a Mutex, not for a Semaphore or an RWMutex"
	if _, err := client.Revoke(t.Context(), "index", state.Holder.Hash, "why"); err == nil || err.Error() != "holdfast: index: Revoke"+want {
		t.Errorf("Revoke: got %v, want %q", err, want)
	}
	if err := client.Steal(t.Context(), "index", state.Holder.Hash, "why"); err == nil || err.Error() != "holdfast: index: Steal"+want {
		t.Errorf("Steal: got %v, want %q", err, want)
	}
	if err := lease.Release(); err != nil {
		t.Errorf("Release: got %v, want nil", err)
	}
}
