//go:build !race

package holdfast_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// prompt grants and releases at once and allocates nothing.
type prompt struct{ granted, released []string }

func (s *prompt) Eval(_ context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name == "unlock" {
		return s.released, nil
	}
	return s.granted, nil
}

func (s *prompt) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s *prompt) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *prompt) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, io.EOF
}

func (s *prompt) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *prompt) Sharded() bool                                         { return false }

// What a lock and a release allocate in the root and below is counted exactly: a figure
// that rises is to be known of. What goroutines that other tests have left allocate
// meanwhile is counted, too, and can only add to it, so the least of some measurements
// is the figure. The race detector allocates on its own, so this runs without it.
func TestAllocations(t *testing.T) {
	client := holdfast.New(&prompt{[]string{"granted 3527400000000063 64 0 1763700000 0"}, []string{"released"}},
		&holdfast.Options{Logger: slog.New(slog.DiscardHandler)})
	defer func() { _ = client.Close() }()
	lockAndRelease := func() {
		lease, err := client.Mutex("invoice:42").Lock(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	const want = 12
	for range 100 {
		lockAndRelease()
	}
	got := testing.AllocsPerRun(200, lockAndRelease)
	for range 9 {
		got = min(got, testing.AllocsPerRun(200, lockAndRelease))
	}
	if got != want {
		t.Errorf("got %v allocations for a lock and its release, want %v", got, want)
	}
}
