package holdfast_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// A context that has ended sends nothing: neither a look nor an order. One that ends
// soon leaves the driver its time, and the caller does not wait for that.
func TestEndedContextBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{free: make(chan struct{}), began: time.Now()}
		client := holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		calls := map[string]func(context.Context) error{
			"Inspect": func(ctx context.Context) error { _, err := admin.Of(client).Inspect(ctx, "n"); return err },
			"Steal":   func(ctx context.Context) error { return admin.Of(client).Steal(ctx, "n", "0123456789", "why") },
			"Mutex.Steal": func(ctx context.Context) error {
				_, err := client.Mutex("n").Steal(ctx, "0123456789", "why")
				return err
			},
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for what, call := range calls {
			if err := call(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want the end of its context", what, err)
			}
		}
		synctest.Wait()
		if sent := -store.answers.Load(); sent != 0 {
			t.Errorf("%d were sent", sent)
		}
		for what, call := range calls {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want the end of its context", what, err)
			}
			cancel()
			if took := time.Since(began); took != 5*time.Millisecond {
				t.Errorf("%s: returned after %v", what, took)
			}
		}
		close(store.free)
		_ = client.Close()
	})
}

// On a quorum, too.
func TestEndedContextAsksNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := make([]*hanging, 3)
		stores := make([]driver.Store, 3)
		for i := range nodes {
			nodes[i] = &hanging{free: make(chan struct{}), began: time.Now()}
			stores[i] = nodes[i]
		}
		client := holdfast.NewQuorum("q/1/3-0123456789", nil, stores...)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := admin.OfQuorum(client).Inspect(ended, "n"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
		if _, err := client.Election("n").Leader(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Leader: got %v, want the end of the context", err)
		}
		synctest.Wait()
		for i, n := range nodes {
			if sent := -n.answers.Load(); sent != 0 {
				t.Errorf("node %d was asked %d times", i, sent)
			}
			close(n.free)
		}
		_ = client.Close()
	})
}

// heeding never answers, but returns when ctx ends.
type heeding struct {
	*hanging
	asked atomic.Int64
}

func (s *heeding) Eval(ctx context.Context, _ driver.Call) ([]string, error) {
	s.asked.Add(1)
	defer s.asked.Add(-1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// A call that goes on behind its caller ends with the Client at the latest.
func TestCloseEndsCallsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heeding{hanging: &hanging{began: time.Now()}}
		client := holdfast.New(store, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := client.Election("n").Leader(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of its context", err)
		}
		synctest.Wait()
		if left := store.asked.Load(); left != 1 {
			t.Errorf("%d calls go on, want one", left)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if left := store.asked.Load(); left != 0 {
			t.Errorf("%d calls go on behind Close", left)
		}
	})
}
