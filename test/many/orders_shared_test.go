package many_test

import (
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Holders of a Semaphore or an RWMutex are revoked and stolen from one by one, on a real
// server and on the embedded one. Of many, too: the one that is meant stands behind the
// first thousand.
func TestOrdersOfSharedKinds(t *testing.T) {
	t.Parallel()
	memory, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	server, err := rueidisstore.Open(redistest.Start(t, redistest.Options{}).URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for name, store := range map[string]driver.Store{"embedded": memory, "redis": server} {
		t.Run(name, func(t *testing.T) {
			client := holdfast.New(store, &holdfast.Options{TTL: holdfast.MaxTTL})
			defer client.Close()
			short := holdfast.New(store, &holdfast.Options{TTL: holdfast.MaxTTL / 2}) // their time ends first, so they are listed first
			defer short.Close()
			last, err := client.RWMutex("index").RLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			state, err := admin.Of(client).Inspect(t.Context(), "index")
			if err != nil {
				t.Fatal(err)
			}
			hash := state.Holder.Hash
			others := make([]*holdfast.Lease, 1000)
			for i := range others {
				if others[i], err = short.RWMutex("index").RLock(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := admin.Of(short).Revoke(t.Context(), "index", hash, "drained"); err != nil {
				t.Fatalf("Revoke: %v", err)
			}
			<-last.Done()
			if reason, ok := last.Revoked(); !ok || reason != "drained" {
				t.Errorf("got %q, %v; want drained", reason, ok)
			}
			if err := last.Release(); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("Release: got %v, want ErrLost", err)
			}
			if state, err = admin.Of(client).Inspect(t.Context(), "index"); err != nil {
				t.Fatal(err)
			}
			if err := admin.Of(client).Steal(t.Context(), "index", state.Holder.Hash, "stuck"); err != nil {
				t.Fatalf("Steal: %v", err)
			}
			stolen := 0
			for _, lease := range others {
				var lost *holdfast.LostError
				switch err := lease.Release(); {
				case errors.As(err, &lost): // of the one that was stolen, whether or not it has heard
					stolen++
				case err != nil:
					t.Errorf("Release of another: %v", err)
				}
			}
			if stolen > 1 {
				t.Errorf("%d were stolen, want one", stolen)
			}
		})
	}
}
