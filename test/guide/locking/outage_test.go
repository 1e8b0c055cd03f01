package locking

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
)

// While the store does not answer, no snippet says that the name is busy, and none runs what needs the lock.
func TestDisconnected(t *testing.T) {
	s := &shop{}
	for name, call := range map[string]func(ctx context.Context, client *holdfast.Client) error{
		"do":               func(ctx context.Context, client *holdfast.Client) error { return do(ctx, client, s) },
		"lock and release": func(ctx context.Context, client *holdfast.Client) error { return lockAndRelease(ctx, client, s) },
		"wait two seconds": func(ctx context.Context, client *holdfast.Client) error {
			_, err := waitTwoSeconds(ctx, client.Mutex("n"))
			return err
		},
		"try once": func(ctx context.Context, client *holdfast.Client) error {
			_, err := tryOnce(ctx, client.Mutex("n"))
			return err
		},
		"limits": func(ctx context.Context, client *holdfast.Client) error {
			_, err := limits(client).Lock(ctx)
			return err
		},
		"nested": func(ctx context.Context, client *holdfast.Client) error {
			return nested(ctx, client, func(context.Context) error { t.Error("it is saved"); return nil })
		},
	} {
		for _, wait := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second} { // 0: no deadline
			t.Run(name+" "+wait.String(), func(t *testing.T) {
				clienttest.Connected(t, func(t *testing.T, client *holdfast.Client, connection *embedded.Connection) {
					connection.Disconnect()
					ctx, cancel := t.Context(), func() {}
					if wait > 0 {
						ctx, cancel = context.WithTimeout(ctx, wait)
					}
					defer cancel()
					if err := call(ctx, client); !errors.Is(err, holdfast.ErrUnreachable) || strings.Contains(err.Error(), "working") {
						t.Errorf("got %v, want ErrUnreachable", err)
					}
				})
			})
		}
	}
	if len(s.tokens) > 0 {
		t.Errorf("it charged with tokens %d", s.tokens)
	}
}

// A lease whose store is cut ends, and nothing is sent under it.
func TestDisconnectedHolder(t *testing.T) {
	clienttest.Connected(t, func(t *testing.T, client *holdfast.Client, connection *embedded.Connection) {
		lease, err := client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		connection.Disconnect()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := send(ctx, lease, func() error { t.Error("it is sent"); return nil }); err == nil {
			t.Error("send: got nil, want an error")
		}
		hang := func(ctx context.Context) error { <-ctx.Done(); return nil }
		if err := steps(t.Context(), lease, []func(context.Context) error{hang, hang}); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("steps: got %v, want ErrLost", err)
		}
		if got, want := reason(lease.Context(t.Context())), "the lease was lost: expired"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		_ = lease.Release()
	})
}
