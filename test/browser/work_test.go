package browser_test

import (
	"context"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// The page of a semaphore shows what waiters run, in one line each, and how long a permit that it
// saw granted is held.
func TestWork(t *testing.T) {
	s := stage(t, &dashboard.Options{})
	acquire := func(ctx context.Context, owner, command string) {
		client := s.client(s.Store, &holdfast.Options{Owner: owner, TTL: holdfast.DefaultTTL, Details: &holdfast.Details{Command: command, Note: "ticket of " + owner}})
		if lease, err := client.Semaphore("pool", 1).Acquire(ctx, 1); err == nil {
			t.Cleanup(func() { _ = lease.Release() })
		}
	}
	lock(t, s.Client("other", holdfast.DefaultTTL), "other")
	p := open(t, s, "/locks", wide)
	p.until("the first look", has("other"))
	acquire(t.Context(), "alice", "render alice")
	p.to("/lock?name=pool")
	p.until("the holder", has("Held for"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		acquire(ctx, "bob", "render --all --of-the-frames --in /a/very/long/path/that/no/table/has/room/for")
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	p.until("the waiter's work", has("Command: render --all")+" && "+has("Note: ticket of bob"))
	if ask[bool](p, "document.documentElement.scrollWidth > innerWidth") {
		t.Error("the page is wider than the window")
	}
	const lines = "Array.from(document.querySelectorAll('tr[data-key] th .cut')).every(e => e.getClientRects().length === 1 && e.clientHeight < 2 * parseFloat(getComputedStyle(e).fontSize))"
	if !ask[bool](p, lines) {
		t.Error("the work takes more than a line")
	}
}
