//go:build unix

// Package client_test tests one feature after the other on real servers, with several
// Clients in one process.
package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Hundreds of waits that are given up at any moment leave nothing: no key, no
// goroutine, nobody who waits in vain.
func TestAbandonedWaitsLeaveNothing(t *testing.T) {
	const name = "abandoned"
	server := redistest.Start(t, redistest.Options{})
	beginning := runtime.NumGoroutine()
	var clients []*holdfast.Client
	var stores []*rueidisstore.Store
	for _, owner := range []string{"A", "B"} {
		store, err := rueidisstore.Open(server.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, store)
		clients = append(clients, holdfast.New(store, &holdfast.Options{Owner: owner, TTL: clienttest.Long}))
	}
	abandon(t, clients, name, 40)
	clienttest.NothingLeftSoon(t, server, name)
	warm := runtime.NumGoroutine()

	if got := abandon(t, clients, name, 200); got < 20 {
		t.Errorf("%d waits were given up, want 20 at least", got)
	}
	clienttest.NothingLeftSoon(t, server, name)
	clienttest.Eventually(t, "there are no more goroutines than before", func() bool { return runtime.NumGoroutine() <= warm+10 })
	for _, client := range clients {
		clienttest.GiveBack(t, clienttest.Take(t, client, name))
	}
	for i, client := range clients {
		clienttest.CloseWell(t, client)
		if err := stores[i].Close(); err != nil {
			t.Error(err)
		}
	}
	clienttest.Eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= beginning })
}

// abandon lets clients wait n times in all, for up to 40 ms each, and returns
// how many waits were given up.
func abandon(t *testing.T, clients []*holdfast.Client, name string, n int) (given int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	const lanes = 4 // callers of a client
	for _, client := range clients {
		for range lanes {
			all.Go(func() {
				for range n / lanes / len(clients) {
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(40*time.Millisecond))
					lease, err := client.Mutex(name).Lock(ctx)
					if err == nil {
						time.Sleep(rand.N(15 * time.Millisecond))
						err = lease.Release()
					} else if errors.Is(err, context.DeadlineExceeded) {
						mu.Lock()
						given++
						mu.Unlock()
						err = nil
					}
					if err != nil {
						t.Errorf("got %v, want no error but the context's", err)
					}
					cancel()
				}
			})
		}
	}
	all.Wait()
	return given
}
