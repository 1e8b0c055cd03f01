//go:build !race

package holdfast_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
)

// slow grants at once, and takes two seconds for each pipeline.
type slow struct {
	began     time.Time
	now, most atomic.Int64
	closing   atomic.Bool
}

func (s *slow) Seam() clock.Seam {
	return clock.Seam{Now: func() time.Duration { return time.Since(s.began) }} // the bubble's time
}

func (s *slow) Eval(_ context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name == "unlock" {
		return []string{"released"}, nil
	}
	return []string{"granted 3527400000000063 64 0 1763700000 0"}, nil
}

func (s *slow) EvalAll(_ context.Context, calls []driver.Call) []driver.Result {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	if !s.closing.Load() {
		time.Sleep(2 * time.Second)
	}
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply = []string{"renewed 0 0 0 0 0"}
		if call.Script.Name == "unlock" {
			results[i].Reply[0] = "released"
		}
	}
	return results
}

func (s *slow) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *slow) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
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

// acknowledged is slow with each renewal but the one that confirms a grant.
type acknowledged struct {
	slow
	late atomic.Int64 // renewals that came after six seconds
}

func (s *acknowledged) EvalWait(ctx context.Context, calls []driver.Call, replicas int, _ time.Duration) ([]driver.Result, int, error) {
	if time.Since(s.began) > 6*time.Second {
		s.late.Add(1)
	}
	if time.Since(s.began) > time.Second {
		return s.EvalAll(ctx, calls), replicas, nil
	}
	return []driver.Result{{Reply: []string{"renewed 3527400000000063 64 0 0 0"}}}, replicas, nil
}

func (s *acknowledged) Sharded() bool { return true } // each renewal travels alone

// A renewal that waited for its turn until the lease was over is not sent: L would
// live for another ttl.
func TestRenewalOfWhatIsOverIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &acknowledged{slow: slow{began: time.Now()}}
		client := holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.DiscardHandler), WaitReplicas: 1})
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				mutex := client.Mutex(strconv.Itoa(i))
				mutex.MaxHold = 6 * time.Second
				if _, err := mutex.Lock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		time.Sleep(20 * time.Second)
		if got := store.most.Load(); got != 128 {
			t.Errorf("got %d renewals at once, want 128: none had to wait", got)
		}
		if got := store.late.Load(); got > 0 {
			t.Errorf("%d renewals were sent when their leases were over", got)
		}
		store.closing.Store(true)
		_ = client.Close()
		time.Sleep(5 * time.Second)
	})
}
