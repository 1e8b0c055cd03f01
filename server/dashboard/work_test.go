package dashboard_test

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// The page of a semaphore says of each holder how long it has held, by what the dashboard saw or
// else by the journal, and of each waiter what it runs.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Journal: written{
			{At: time.Now().Add(-time.Minute), Event: journal.Granted, Name: "pool", Kind: holdfast.KindSemaphore, Owner: "early", Token: 2},
		}})
		acquire := func(ctx context.Context, owner string) {
			client := holdfast.New(b.store, &holdfast.Options{Owner: owner, TTL: 30 * time.Second, Details: &holdfast.Details{Command: "render " + owner, Note: "ticket of " + owner}})
			t.Cleanup(func() { client.Close() })
			if lease, err := client.Semaphore("pool", 3).Acquire(ctx, 1); err == nil {
				t.Cleanup(func() { _ = lease.Release() })
			}
		}
		acquire(t.Context(), "early")
		acquire(t.Context(), "unwritten")
		b.shows("/lock?name=pool", "early", "unwritten")
		time.Sleep(2 * time.Second)
		acquire(t.Context(), "late")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { acquire(ctx, "waiter"); close(done) }()
		defer func() { cancel(); <-done }()
		time.Sleep(4 * time.Second)
		body := b.shows("/lock?name=pool", "render waiter", "Note: <bdi>ticket of waiter</bdi>")
		for owner, want := range map[string]string{"early": `1m 0[5-8]s`, "late": `[34]\.\d s`, "unwritten": ""} {
			card := regexp.MustCompile(`(?s)<dl class="facts"[^>]*>\s*<div><dt>Owner</dt><dd><a[^>]*><bdi>` + owner + `</bdi>.*?</dl>`).FindString(body)
			held := regexp.MustCompile(`<dt>Held for</dt><dd>([^<]*)</dd>`).FindStringSubmatch(card)
			switch {
			case card == "":
				t.Errorf("%s is not shown:\n%s", owner, body)
			case want == "" && held != nil:
				t.Errorf("%s is held for %s, which nobody can know", owner, held[1])
			case want != "" && (held == nil || !regexp.MustCompile("^"+want+"$").MatchString(held[1])):
				t.Errorf("%s is held for %q, want %s:\n%s", owner, held, want, card)
			}
		}
	})
}
