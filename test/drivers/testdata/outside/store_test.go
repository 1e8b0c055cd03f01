package mystore

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
)

func TestStore(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store {
		store := New(os.Getenv("REDIS_ADDRESS"))
		t.Cleanup(func() { store.Close() })
		return store
	})
}

func TestMoved(t *testing.T) {
	drivertest.RunMoved(t, os.Getenv("MASTER_ADDRESS"), os.Getenv("REPLICA_ADDRESS"), func(t *testing.T, address string) driver.Store {
		store := New(address)
		t.Cleanup(func() { store.Close() })
		return store
	})
}

// A subscription whose connection breaks ends. The suite cannot see that.
func TestBroken(t *testing.T) {
	store := New(os.Getenv("REDIS_ADDRESS"))
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	sub, err := store.Subscribe(ctx, "channel", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if result := store.send(ctx, []string{"CLIENT", "KILL", "TYPE", "PUBSUB"})[0]; result.Err != nil {
		t.Fatal(result.Err)
	}
	select {
	case <-sub.Done():
	case <-ctx.Done():
		t.Fatal("the subscription has not ended")
	}
	if sub.Ping(ctx) == nil {
		t.Error("a ping on a broken connection worked")
	}
	if sub, err = store.Subscribe(ctx, "channel", func(string) {}); err != nil {
		t.Fatal("no new connection: ", err)
	}
	if err := sub.Ping(ctx); err != nil {
		t.Error(err)
	}
}
