//go:build unix

package quorum_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// lazy is a store that a driver opens when it is needed.
func lazy(t testing.TB, d clienttest.Library, url string) driver.Store {
	store := driver.Lazy(func() (driver.Store, error) { return d.Try(url, clienttest.Way{}) })
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A store that is opened when it is needed is a store as any other.
func TestLazyConforms(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		drivertest.Run(t, func(t *testing.T) driver.Store { return lazy(t, d, server.URL()) })
	})
}

// A password that is wrong will not be right at the next try: that is said at once.
func TestLazyTellsARefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Password: "right"})
	url := strings.Replace(server.URL(), "right", "wrong", 1)
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		if _, err := d.Try(url, clienttest.Way{}); !errors.Is(err, driver.ServerError("WRONGPASS invalid username-password pair or user is disabled.")) {
			t.Errorf("opened with a wrong password: %v, want what the server said", err)
		}
		client := holdfast.New(lazy(t, d, url), nil)
		t.Cleanup(func() { _ = client.Close() })
		_, err := clienttest.LockIn(t, client, "x", clienttest.Patience)
		if _, refused := errors.AsType[driver.ServerError](err); !refused || errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("locked with a wrong password: %v, want what the server said", err)
		}
	})
}

// A program starts, and locks, while a node of its quorum is off, and asks that node,
// too, when it is back.
func TestQuorumStartsWithoutANode(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		q := clienttest.Deploy(t, 3)
		q.Servers[2].Kill()
		var stores []driver.Store
		for _, s := range q.Servers {
			stores = append(stores, lazy(t, d, s.URL()))
		}
		client := holdfast.NewQuorum(q.ID, nil, stores...)
		t.Cleanup(func() { _ = client.Close() })
		lease, err := clienttest.LockIn(t, client, "x", clienttest.Patience)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		if err := q.Servers[2].Restart(false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
		defer cancel()
		for {
			_, err := stores[2].Eval(ctx, driver.Call{Script: clienttest.Lua("return 'here'")})
			if err == nil {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("the node is back, and can't be asked: %v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}
