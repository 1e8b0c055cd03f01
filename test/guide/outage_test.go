//go:build unix

package guide_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
)

// While the store does not answer, the snippets of the other pages say so, and none runs what needs the lock.
func TestDisconnected(t *testing.T) {
	ran := func(context.Context, *holdfast.Lease) error { return errors.New("it ran") }
	for name, call := range map[string]func(ctx context.Context, client *holdfast.Client) error{
		"pay": func(ctx context.Context, client *holdfast.Client) error { return pay(ctx, client, (*sql.DB)(nil)) },
		"import": func(ctx context.Context, client *holdfast.Client) error {
			return Import(ctx, client, func(context.Context, int64) error { return errors.New("it ran") })
		},
		"charge": func(ctx context.Context, client *holdfast.Client) error {
			return chargeWithHoldfast(ctx, client, func(context.Context, int64) error { return errors.New("it ran") })
		},
		"once every": func(ctx context.Context, client *holdfast.Client) error { return onceEvery(ctx, client, ran) },
		"last run":   lastRun,
		"same keys": func(ctx context.Context, client *holdfast.Client) error {
			same := sameKeys(client.Store())
			defer same.Close()
			_, err := same.Mutex("lock:invoice:42").Lock(ctx)
			return err
		},
		"as rueidislock": func(ctx context.Context, client *holdfast.Client) error {
			same := sameKeysAsRueidislock(client.Store())
			defer same.Close()
			_, err := same.Mutex("invoice:42").Lock(ctx)
			return err
		},
		"replicas": func(ctx context.Context, client *holdfast.Client) error {
			replicated := allReplicas(client.Store())
			defer replicated.Close()
			_, err := replicated.Mutex("a").Lock(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			clienttest.Connected(t, func(t *testing.T, client *holdfast.Client, connection *embedded.Connection) {
				connection.Disconnect()
				began := time.Now()
				if err := call(t.Context(), client); !errors.Is(err, holdfast.ErrUnreachable) {
					t.Errorf("after %v: got %v, want ErrUnreachable", time.Since(began), err)
				}
			})
		})
	}
}

// This one makes a Client that it never closes, so it runs outside a bubble.
func TestDisconnectedKeys(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	connection := store.Connect()
	connection.Disconnect()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := twoOfThreeKeys(ctx, connection); !errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}

// No scheduler runs a job whose lock it cannot ask for.
func TestDisconnectedJobs(t *testing.T) {
	clienttest.Connected(t, func(t *testing.T, client *holdfast.Client, connection *embedded.Connection) {
		connection.Disconnect()
		c, err := inCron(client, func(context.Context, *holdfast.Lease) error { t.Error("it ran"); return nil })
		if err != nil {
			t.Fatal(err)
		}
		c.Entries()[0].WrappedJob.Run()
	})
}
