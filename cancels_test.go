package holdfast_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
)

// silent answers nothing until the client is closed, and then cancels. Its clock
// stands still, so nothing is repeated by the clock.
type silent struct {
	lock, cancel func() error

	mu     sync.Mutex
	closed map[string]int // how often Close cancelled an id
}

func (s *silent) Seam() clock.Seam {
	return clock.Seam{Now: func() time.Duration { return time.Hour }}
}

func (s *silent) Eval(_ context.Context, call driver.Call) ([]string, error) {
	err := io.EOF
	switch call.Script.Name {
	case "lock":
		err = s.lock()
	case "cancel":
		err = s.cancel()
	}
	if err != nil {
		return nil, err
	}
	return []string{"cancelled", "1763700000000000", ""}, nil
}

func (s *silent) EvalAll(_ context.Context, calls []driver.Call) []driver.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range calls {
		s.closed[call.Args[0]]++
	}
	results := make([]driver.Result, len(calls))
	for i := range results {
		results[i].Reply = []string{"cancelled", "1763700000000000", ""}
	}
	return results
}

func (s *silent) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *silent) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, io.EOF
}

func (s *silent) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *silent) Sharded() bool                                         { return false }

// onSilence makes a Client on a store that says of a cancel what that function does.
func onSilence(cancel func() error) (*silent, *holdfast.Client) {
	store := &silent{cancel: cancel, closed: map[string]int{}}
	return store, holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.DiscardHandler)})
}

// giveUp locks a name, and gives up before the lock has failed; so the id is
// cancelled at once, and again when it has.
func (s *silent) giveUp(t *testing.T, client *holdfast.Client, meanwhile func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	gone, failed := make(chan struct{}), make(chan struct{})
	s.lock = func() error {
		defer close(failed)
		cancel()
		<-gone
		meanwhile()
		return io.EOF
	}
	if _, err := client.Mutex("n").Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	close(gone)
	<-failed
}

// An id is cancelled by one cleanup. A lock that may have run after the cancel makes
// it cancel once more, whatever becomes of the first.
func TestOneCleanupForACancel(t *testing.T) {
	for _, test := range []struct {
		what          string
		first, second error
		left          int // ids that Close has to cancel
	}{
		{"the second is answered", io.EOF, nil, 0},
		{"only the first is answered", nil, io.EOF, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := make(chan chan error)
			store, client := onSilence(func() error {
				answer := make(chan error)
				began <- answer
				return <-answer
			})
			var first chan error
			store.giveUp(t, client, func() { first = <-began })
			select {
			case second := <-began:
				second <- test.second
				synctest.Wait()
			case <-time.After(10 * time.Second):
				t.Errorf("%s: the id is not cancelled again after the late lock", test.what)
			}
			first <- test.first
			synctest.Wait()
			_ = client.Close()
			if got := len(store.closed); got != test.left {
				t.Errorf("%s: Close cancelled %d ids, want %d", test.what, got, test.left)
			}
		})
	}
}
