//go:build unix

package guide_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/journal"
)

// The code of docs/guide/05-testing.md. Import stands for the code of a user.

func Import(ctx context.Context, client *holdfast.Client, page func(ctx context.Context, token int64) error) error {
	return holdfast.Do(ctx, client.Mutex("import"), func(ctx context.Context, lease *holdfast.Lease) error {
		for {
			if err := page(ctx, lease.Token()); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Second):
			}
		}
	})
}

func newClient(t *testing.T, store driver.Store) *holdfast.Client {
	client := holdfast.New(store, nil)
	t.Cleanup(func() { _ = client.Close() }) // a bubble ends only when all its goroutines have ended
	return client
}

func TestImportStopsWhenItsLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		client := newClient(t, store)

		time.AfterFunc(time.Hour, func() { _, _ = store.Do("DEL", "holdfast:import") })
		began := time.Now()
		err := Import(t.Context(), client, func(context.Context, int64) error { return nil })
		if !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		if took := time.Since(began); took > time.Hour+6*time.Second {
			t.Errorf("Import stopped after %v, want a third of the TTL after the loss", took)
		}
	})
}

// The other ways of the page to lose a lease.
func TestImportStopsInEachCase(t *testing.T) {
	for name, lose := range map[string]func(store *embedded.Store, connection *embedded.Connection, client *holdfast.Client) holdfast.Cause{
		"all data is lost": func(store *embedded.Store, _ *embedded.Connection, _ *holdfast.Client) holdfast.Cause {
			_, _ = store.Do("FLUSHALL")
			return holdfast.Gone
		},
		"the network breaks": func(_ *embedded.Store, connection *embedded.Connection, _ *holdfast.Client) holdfast.Cause {
			connection.Disconnect()
			return holdfast.Expired
		},
		"the client is closed": func(_ *embedded.Store, _ *embedded.Connection, client *holdfast.Client) holdfast.Cause {
			_ = client.Close()
			return holdfast.Closed
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, _ := embedded.Open(nil)
				connection := store.Connect()
				client := newClient(t, connection)
				var want holdfast.Cause
				time.AfterFunc(time.Hour, func() { want = lose(store, connection, client) })
				err := Import(t.Context(), client, func(context.Context, int64) error { return nil })
				synctest.Wait()
				if lost, ok := errors.AsType[*holdfast.LostError](err); !ok || lost.Cause != want {
					t.Errorf("got %v, want that it was lost: %s", err, want)
				}
			})
		})
	}
}

func TestImportIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		connection := store.Connect()
		client, other := newClient(t, connection), newClient(t, store)

		lease, err := client.Mutex("import").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		connection.Disconnect() // for others the process is dead
		next, err := other.Mutex("import").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(lease.Err(), holdfast.ErrLost) {
			t.Error("the old holder believes that it holds the name")
		}
		connection.Reconnect() // its late requests arrive now
		if err := next.EnsureHeld(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestImportIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		client, operator := newClient(t, store), newClient(t, store)

		time.AfterFunc(time.Hour, func() {
			state, err := admin.Of(operator).Inspect(t.Context(), "import")
			if err != nil {
				t.Error(err)
				return
			}
			_, err = admin.Of(operator).Revoke(t.Context(), "import", state.Holder.Hash, "maintenance") // or Steal
			if err != nil {
				t.Error(err)
			}
		})
		err := Import(t.Context(), client, func(context.Context, int64) error { return nil })
		synctest.Wait() // the operator's call returns before the context of the test ends
		if lost, ok := errors.AsType[*holdfast.LostError](err); !ok || lost.Cause != holdfast.Revoked {
			t.Errorf("got %v, want that it was revoked", err)
		}
	})
}

func TestLateWriteIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64 // how far the server's clock is ahead of ours
		store, _ := embedded.Open(&embedded.Options{
			Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		})
		first, second := newClient(t, store), newClient(t, store)

		older, err := first.Mutex("import").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ahead.Store(int64(time.Minute)) // the key has expired
		newer, err := second.Mutex("import").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if older.Err() != nil {
			t.Fatal("the first client knows already")
		}

		var gate fence.Gate // or your table, your service
		if err := gate.Advance("page", newer.Token()); err != nil {
			t.Error(err)
		}
		if err := gate.Advance("page", older.Token()); !errors.Is(err, holdfast.ErrStale) {
			t.Errorf("got %v from a late write, want ErrStale", err)
		}
	})
}

func TestNextLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel() // ends every Lead

		leaders := make(chan string)
		candidate := func(value string) *embedded.Connection {
			connection := store.Connect()
			client := newClient(t, connection)
			all.Go(func() {
				_ = holdfast.Lead(ctx, client.Election("scheduler"), value, func(ctx context.Context, _ *holdfast.Lease) error {
					leaders <- value
					<-ctx.Done() // until the term is lost, or the test ends
					return ctx.Err()
				})
			})
			return connection
		}
		first := candidate("a")
		if leader := <-leaders; leader != "a" {
			t.Errorf("%s leads, want a", leader)
		}
		candidate("b")
		synctest.Wait() // b waits in the queue
		first.Disconnect()
		if leader := <-leaders; leader != "b" {
			t.Errorf("%s leads, want b", leader)
		}
	})
}

func TestNothingOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		writer := journal.NewWriter(store, nil)
		client := holdfast.New(store, &holdfast.Options{OnEvent: writer.OnEvent})

		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				err := holdfast.Do(t.Context(), client.Mutex("import"), func(ctx context.Context, _ *holdfast.Lease) error {
					time.Sleep(time.Second)
					return ctx.Err()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		_ = client.Close() // the writer has its last events now
		_ = writer.Close()

		report, err := journal.Audit(journal.Read(t.Context(), store, journal.Query{}), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if report.Verdict != journal.Proved || report.Leases != 20 {
			t.Errorf("got %s of %d leases, want proved of 20: %v %v", report.Verdict, report.Leases, report.Reasons, report.Findings)
		}
	})
}
