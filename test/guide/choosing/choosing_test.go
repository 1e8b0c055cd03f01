package choosing

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	_ "modernc.org/sqlite"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

func open(t *testing.T) *holdfast.Client {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := holdfast.New(store, nil)
	t.Cleanup(func() { _, _ = client.Close(), store.Close() })
	return client
}

func TestKinds(t *testing.T) {
	client := open(t)
	ran := 0
	run := func(ctx context.Context) error { ran++; return ctx.Err() }
	if err := semaphore(t.Context(), client, run); err != nil {
		t.Error(err)
	}
	if err := readers(t.Context(), client, run, run); err != nil {
		t.Error(err)
	}
	err := several(t.Context(), client, func(ctx context.Context, from, to int64) error {
		if from == 0 || to == 0 {
			t.Errorf("tokens %d and %d", from, to)
		}
		return run(ctx)
	})
	if err != nil {
		t.Error(err)
	}
	if ran != 4 {
		t.Errorf("%d functions ran, want 4", ran)
	}
}

func TestNumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := open(t)
		var inUse [3]atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				err := numbered(t.Context(), client, len(inUse), func(_ context.Context, i int) error {
					if inUse[i].Add(1) != 1 {
						t.Errorf("two holders have the number %d", i)
					}
					time.Sleep(time.Second)
					inUse[i].Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		began := time.Now()
		all.Wait()
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("20 of 1 s each, 3 at a time, took %v, want 7 s", took)
		}
	})
}

func TestObserve(t *testing.T) {
	client := open(t)
	term, err := client.Election("scheduler").Campaign(t.Context(), "10.0.0.7:8080")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	observe(ctx, client, func(address string) {
		if address == "10.0.0.7:8080" {
			cancel()
		}
	})
	if err := term.Release(); err != nil {
		t.Error(err)
	}
}

func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		err := lead(ctx, client, "10.0.0.7:8080", func(_ context.Context, token int64) error {
			steps++
			switch {
			case token == 0:
				t.Error("a step without a token")
			case steps == 3:
				cancel()
			}
			return errors.New("a step fails, and the leader continues")
		})
		if !errors.Is(err, context.Canceled) || steps != 3 {
			t.Errorf("got %v after %d steps, want the cancel after 3", err, steps)
		}
		if leader, err := client.Election("scheduler").Leader(t.Context()); err != nil || !leader.None() {
			t.Errorf("%v, %v: the candidate did not resign", leader, err)
		}
	})
}

func TestConditional(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE invoices (id INTEGER, version INTEGER, state TEXT); INSERT INTO invoices VALUES (42, 1, 'open')`); err != nil {
		t.Fatal(err)
	}
	if err := conditional(t.Context(), db, 42, 1); err != nil {
		t.Error(err)
	}
	if err := conditional(t.Context(), db, 42, 1); err == nil {
		t.Error("the second write succeeded, want that another writer was first")
	}
}
