package choosing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
)

// While the store does not answer, each snippet says so, and none runs what needs the lock.
func TestDisconnected(t *testing.T) {
	never := func(context.Context) error { return errors.New("it ran") }
	for name, call := range map[string]func(ctx context.Context, client *holdfast.Client) error{
		"semaphore": func(ctx context.Context, client *holdfast.Client) error { return semaphore(ctx, client, never) },
		"readers":   func(ctx context.Context, client *holdfast.Client) error { return readers(ctx, client, never, never) },
		"several": func(ctx context.Context, client *holdfast.Client) error {
			return several(ctx, client, func(ctx context.Context, _, _ int64) error { return never(ctx) })
		},
		"lead": func(ctx context.Context, client *holdfast.Client) error {
			return lead(ctx, client, "10.0.0.7:8080", func(ctx context.Context, _ int64) error {
				t.Error("it leads")
				return never(ctx)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			clienttest.Connected(t, func(t *testing.T, client *holdfast.Client, connection *embedded.Connection) {
				connection.Disconnect()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if err := call(ctx, client); !errors.Is(err, holdfast.ErrUnreachable) {
					t.Errorf("got %v, want ErrUnreachable", err)
				}
			})
		})
	}
	t.Run("observe", func(t *testing.T) {
		clienttest.Connected(t, func(t *testing.T, client *holdfast.Client, connection *embedded.Connection) {
			connection.Disconnect()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			observe(ctx, client, func(address string) {
				if address != "" {
					t.Errorf("%q leads, want that nobody is known", address)
				}
			})
		})
	})
}
