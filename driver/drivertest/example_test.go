package drivertest_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
)

// The whole test of a driver. Each call of open returns a store of its own, and
// all stores reach the same server.
func ExampleRun() {
	var t *testing.T // of func TestStore(t *testing.T)

	address := startServer(t)
	drivertest.Run(t, func(t *testing.T) driver.Store {
		store := openStore(t, address)
		t.Cleanup(func() { store.Close() })
		return store
	})
}

type closingStore interface {
	driver.Store
	Close() error
}

func startServer(*testing.T) string                    { return "127.0.0.1:6379" }
func openStore(t *testing.T, addr string) closingStore { return nil }
