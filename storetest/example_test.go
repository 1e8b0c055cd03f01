package storetest_test

import (
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/storetest"
)

// The whole test of a driver. Each call of open returns a store of its own, and
// all stores reach the same server.
func ExampleRun() {
	var t *testing.T // of func TestStore(t *testing.T)

	address := startServer(t)
	storetest.Run(t, func(t *testing.T) holdfast.Store {
		store := openStore(t, address)
		t.Cleanup(func() { store.Close() })
		return store
	})
}

type closingStore interface {
	holdfast.Store
	Close() error
}

func startServer(*testing.T) string                    { return "127.0.0.1:6379" }
func openStore(t *testing.T, addr string) closingStore { return nil }
