package gocronlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/embedded"
)

// An Elector that never held anything has nothing to say when it is closed, also
// where it could not ask.
func TestElectorClosesWithNothing(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := holdfast.New(store, &holdfast.Options{TTL: time.Second})
	defer client.Close()
	store.Close()
	elector := gocronlock.NewElector(client, "n")
	for end := time.Now().Add(20 * time.Second); !errors.Is(elector.IsLeader(t.Context()), holdfast.ErrUnreachable); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("IsLeader: got %v, want ErrUnreachable", elector.IsLeader(t.Context()))
		}
	}
	if err := elector.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}
