package holdfast_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// Confirm asks about all leases at once: many are not waited for longer than one, by a
// driver that does not heed its context.
func TestConfirmWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leases = 5
		store := &hanging{free: make(chan struct{}), began: time.Now()}
		store.answers.Store(leases)
		client := holdfast.New(store, &holdfast.Options{TTL: time.Hour, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		for range leases {
			m := client.Mutex("n")
			m.Owner = "a line of its own"
			if _, err := m.Lock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := client.Confirm(t.Context(), "n"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("returned after %v, want 3s as for one lease", took)
		}
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := client.Confirm(ctx, "n"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Millisecond {
			t.Errorf("got %v after %v, want the end of the context", err, time.Since(began))
		}
		close(store.free)
		_ = client.Close()
		if err := client.Confirm(t.Context(), "n"); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

// stating answers every call with the state of a name.
type stating struct {
	*hanging
	reply []string
}

func (s stating) Eval(context.Context, driver.Call) ([]string, error) { return s.reply, nil }

// A lock key with an empty value is held, by a client of another library.
func TestStealOfAnEmptyValue(t *testing.T) {
	const hashOfNothing = "e3b0c44298"
	store := stating{&hanging{began: time.Now()}, []string{"state", "1763700000000000", "", "1", "5000", "0", "0", "", "", "", ""}}
	client := holdfast.New(store, nil)
	t.Cleanup(func() { client.Close() })
	_, err := client.Mutex("n").Steal(t.Context(), hashOfNothing, "why")
	var refused *holdfast.TenureError
	if !errors.As(err, &refused) || refused.Free || !refused.Foreign || !strings.Contains(err.Error(), "another library") {
		t.Errorf("got %v, want a holder of another library", err)
	}
}
