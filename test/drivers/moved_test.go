package drivers_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A store leaves a master that became a replica when its address leads to another server, however
// the store was made.
func TestDriversFollowAMovedAddress(t *testing.T) {
	t.Parallel()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		ways := map[string]func(t *testing.T, address string) driver.Store{
			"Open": func(t *testing.T, address string) driver.Store {
				return d.Open(t, "redis://"+address, clienttest.Way{})
			},
			"RESP2": func(t *testing.T, address string) driver.Store {
				return d.Open(t, "redis://"+address, clienttest.Way{RESP2: true})
			},
			"New": func(t *testing.T, address string) driver.Store {
				store, _, end := d.Adopt(address)
				t.Cleanup(func() { _ = store.Close(); end() })
				return store
			},
		}
		for way, open := range ways {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				master := redistest.Start(t, redistest.Options{Config: []string{"repl-diskless-sync-delay 0"}})
				replica := redistest.Replicas(t, master, 1)[0]
				drivertest.RunMoved(t, master.Addr(), replica.Addr(), open)
			})
		}
	})
}
