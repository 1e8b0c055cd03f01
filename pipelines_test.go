package holdfast_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/seam"
)

// slow grants at once, and takes two seconds for each pipeline.
type slow struct {
	began     time.Time
	now, most atomic.Int64
	closing   atomic.Bool
}

func (s *slow) Seam() seam.Seam {
	return seam.Seam{Now: func() time.Duration { return time.Since(s.began) }} // the bubble's time
}

func (s *slow) Eval(_ context.Context, call holdfast.Call) ([]string, error) {
	if call.Script.Name == "unlock" {
		return []string{"released"}, nil
	}
	return []string{"granted 3527400000000063 64 0 1763700000 0"}, nil
}

func (s *slow) EvalAll(_ context.Context, calls []holdfast.Call) []holdfast.Result {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	if !s.closing.Load() {
		time.Sleep(2 * time.Second)
	}
	results := make([]holdfast.Result, len(calls))
	for i, call := range calls {
		results[i].Reply = []string{"renewed 0 0 0 0 0"}
		if call.Script.Name == "unlock" {
			results[i].Reply[0] = "released"
		}
	}
	return results
}

func (s *slow) EvalWait(ctx context.Context, calls []holdfast.Call, _ int, _ time.Duration) ([]holdfast.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *slow) Subscribe(context.Context, string, func(string)) (holdfast.Subscription, error) {
	return nil, errors.New("no subscriptions")
}

func (s *slow) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *slow) Sharded() bool                                         { return false }

// A store that is slower than the renewals that fall due gets no more than 128
// pipelines at once, and no lease is lost for it.
func TestPipelinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{began: time.Now()}
		client := holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.DiscardHandler)})
		var leases []*holdfast.Lease
		for i := range 30_000 {
			lease, err := client.Mutex(string(rune('a'+i%26)) + time.Duration(i).String()).Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, lease)
		}
		time.Sleep(time.Minute)
		for _, lease := range leases {
			if err := lease.Err(); err != nil {
				t.Fatalf("after a minute: %v", err)
			}
		}
		if got := store.most.Load(); got > 128 || got < 100 {
			t.Errorf("got %d pipelines at once, want at most 128, and as many as that", got)
		}
		store.closing.Store(true)
		_ = client.Close()
		time.Sleep(5 * time.Second) // the pipelines that are under way
	})
}
