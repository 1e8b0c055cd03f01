package locking

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
)

type shop struct{ tokens []int64 }

func (s *shop) charge(ctx context.Context, token int64) error {
	s.tokens = append(s.tokens, token)
	return ctx.Err()
}

// clients are two processes on one store.
func clients(t *testing.T) (*holdfast.Client, *holdfast.Client) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := holdfast.New(store, &holdfast.Options{Owner: "web-1"})
	b := holdfast.New(store, &holdfast.Options{Owner: "web-2"})
	t.Cleanup(func() { _, _, _ = a.Close(), b.Close(), store.Close() })
	return a, b
}

func TestHolding(t *testing.T) {
	client, _ := clients(t)
	s := &shop{}
	if err := errors.Join(do(t.Context(), client, s), lockAndRelease(t.Context(), client, s)); err != nil {
		t.Fatal(err)
	}
	if len(s.tokens) != 2 || s.tokens[0] >= s.tokens[1] {
		t.Errorf("tokens %d, want two that rise", s.tokens)
	}
	saved := false
	if err := nested(t.Context(), client, func(context.Context) error { saved = true; return nil }); err != nil || !saved {
		t.Errorf("nested: %v, saved %v", err, saved)
	}
}

func TestHashed(t *testing.T) {
	client, _ := clients(t)
	lease, err := hashed(client, "https://example.com/{"+strings.Repeat("long", 1000)).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func TestWaiting(t *testing.T) {
	a, b := clients(t)
	lease, err := waitTwoSeconds(t.Context(), a.Mutex("n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := waitTwoSeconds(t.Context(), b.Mutex("n")); err == nil || !strings.Contains(err.Error(), "still working") {
		t.Errorf("waiting: %v", err)
	}
	if _, err := tryOnce(t.Context(), b.Mutex("n")); err == nil || err.Error() != "web-1 is working on it, 0 waiting" {
		t.Errorf("trying: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	if lease, err = tryOnce(t.Context(), b.Mutex("n")); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func TestLosing(t *testing.T) {
	a, b := clients(t)
	mutex := limits(a)
	mutex.MinHold, mutex.MaxHold = 0, 30*time.Millisecond
	lease, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), lease, func() error { return nil }); err != nil {
		t.Error(err)
	}
	hang := func(ctx context.Context) error { <-ctx.Done(); return nil }
	if err := steps(t.Context(), lease, []func(context.Context) error{hang, hang}); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("steps: got %v, want ErrLost", err)
	}
	if got, want := reason(lease.Context(t.Context())), "the lease was lost: max hold"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_ = lease.Release()

	if lease, err = a.Mutex("n").Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := admin.Of(b).Inspect(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Of(b).Revoke(t.Context(), "n", state.Holder.Hash, "deploy"); err != nil {
		t.Fatal(err)
	}
	ctx := lease.Context(t.Context())
	<-ctx.Done()
	if got, want := reason(ctx), "an operator asked us to stop: deploy"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_ = lease.Release()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, want := reason(cancelled), "the caller cancelled the work"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
