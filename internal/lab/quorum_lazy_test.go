//go:build unix

package lab_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/storetest"
)

// lazy is a store that a driver opens when it is needed.
func lazy(t testing.TB, d library, url string) holdfast.Store {
	store := holdfast.Lazy(func() (holdfast.Store, error) { return d.try(url, way{}) })
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
	eachDriver(t, func(t *testing.T, d library) {
		storetest.Run(t, func(t *testing.T) holdfast.Store { return lazy(t, d, server.URL()) })
	})
}

// A password that is wrong will not be right at the next try: that is said at once.
func TestLazyTellsARefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Password: "right"})
	url := strings.Replace(server.URL(), "right", "wrong", 1)
	eachDriver(t, func(t *testing.T, d library) {
		if _, err := d.try(url, way{}); !errors.Is(err, holdfast.ServerError("WRONGPASS invalid username-password pair or user is disabled.")) {
			t.Errorf("opened with a wrong password: %v, want what the server said", err)
		}
		client := holdfast.New(lazy(t, d, url), nil)
		t.Cleanup(func() { _ = client.Close() })
		_, err := lockIn(t, client, "x", patience)
		if _, refused := errors.AsType[holdfast.ServerError](err); !refused || errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("locked with a wrong password: %v, want what the server said", err)
		}
	})
}

// A program starts, and locks, while a node of its quorum is off, and asks that node,
// too, when it is back.
func TestQuorumStartsWithoutANode(t *testing.T) {
	eachDriver(t, func(t *testing.T, d library) {
		q := deploy(t, 3)
		q.servers[2].Kill()
		var stores []holdfast.Store
		for _, s := range q.servers {
			stores = append(stores, lazy(t, d, s.URL()))
		}
		client := holdfast.NewQuorum(&holdfast.Options{Quorum: q.id}, stores...)
		t.Cleanup(func() { _ = client.Close() })
		lease, err := lockIn(t, client, "x", patience)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		if err := q.servers[2].Restart(false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			_, err := stores[2].Eval(ctx, holdfast.Call{Script: lua("return 'here'")})
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
