package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
)

// hanging answers its first calls and then none, whatever ctx says: a driver
// that is making a connection to a machine that is gone.
type hanging struct {
	answers atomic.Int64
	free    chan struct{}
	began   time.Time
}

func (s *hanging) Seam() clock.Seam {
	return clock.Seam{Now: func() time.Duration { return time.Since(s.began) }} // the bubble's time
}

func (s *hanging) Eval(context.Context, driver.Call) ([]string, error) {
	if s.answers.Add(-1) >= 0 {
		return []string{fmt.Sprintf("granted %d 64 0 1763700000 0", 2*1763700000*1000000)}, nil
	}
	<-s.free
	return nil, errors.New("hung up")
}

func (s *hanging) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s *hanging) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *hanging) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	<-s.free
	return nil, errors.New("hung up")
}

func (s *hanging) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *hanging) Sharded() bool                                         { return false }

// Release sends its request itself only while the store answers. A store that
// has been silent for a second may hang, and Release must not.
func TestReleaseWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{free: make(chan struct{}), began: time.Now()}
		store.answers.Store(1)
		client := holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		lease, err := client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond)
		told := make(chan error, 1)
		go func() { told <- lease.Release() }()
		select {
		case err := <-told:
			if !errors.Is(err, holdfast.ErrUnknown) {
				t.Errorf("got %v, want ErrUnknown", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Release hangs with the store")
		}
		close(store.free)
		_ = client.Close()
	})
}
