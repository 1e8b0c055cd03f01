package holdfastprom_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
)

// broken answers everything with one error.
type broken struct{ err error }

func (b broken) Eval(context.Context, driver.Call) ([]string, error) { return nil, b.err }
func (b broken) EvalAll(_ context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i := range results {
		results[i].Err = b.err
	}
	return results
}
func (b broken) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return b.EvalAll(ctx, calls), 0, b.err
}
func (b broken) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, b.err
}
func (b broken) Scan(context.Context, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("", b.err) }
}
func (b broken) Sharded() bool { return false }

// Every method of a store is passed on and counted, with its error in one word.
func TestStoreCountsErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		word string
	}{
		{driver.ServerError("READONLY You can't write against a read only replica."), "READONLY"},
		{driver.ServerError("Something else"), "ERR"},
		{context.DeadlineExceeded, "timeout"},
		{errors.New("connection refused"), "network"},
	} {
		m := holdfastprom.New(nil)
		store := m.Store(broken{c.err}, "a")
		call := driver.Call{Script: driver.NewScript("renew", "return 1")}
		if _, err := store.Eval(t.Context(), call); err != c.err { //nolint:errorlint // it must be passed on as it is
			t.Errorf("Eval: got %v, want %v", err, c.err)
		}
		store.EvalAll(t.Context(), []driver.Call{call, call})
		_, _, _ = store.EvalWait(t.Context(), []driver.Call{call}, 1, time.Second)
		_, _ = store.Subscribe(t.Context(), "c", func(string) {})
		for _, err := range store.Scan(t.Context(), "*") {
			_ = err // the fault's
		}
		shows(t, m, map[string]float64{
			"holdfast_store_calls_total{renew,a}":                     4,
			"holdfast_store_errors_total{" + c.word + ",renew,a}":     4,
			"holdfast_store_errors_total{" + c.word + ",WAIT,a}":      1,
			"holdfast_store_errors_total{" + c.word + ",SUBSCRIBE,a}": 1,
			"holdfast_store_errors_total{" + c.word + ",SCAN,a}":      1,
			"holdfast_store_seconds{eval,a}":                          1,
			"holdfast_store_seconds{pipeline,a}":                      1,
			"holdfast_store_seconds{wait,a}":                          1,
			"holdfast_store_seconds{subscribe,a}":                     1,
		})
	}
}

// A call that its caller gave up is no error of the store.
func TestStoreForgivesTheCanceled(t *testing.T) {
	m := holdfastprom.New(nil)
	store := m.Store(broken{context.Canceled}, "")
	_, _ = store.Eval(t.Context(), driver.Call{Script: driver.NewScript("renew", "return 1")})
	got := scrape(t, m)
	if n := got["holdfast_store_calls_total{renew,}"]; n != 1 {
		t.Errorf("calls: got %v, want 1", n)
	}
	for key, n := range got {
		if len(key) > 27 && key[:27] == "holdfast_store_errors_total" {
			t.Errorf("%s: got %v, want none", key, n)
		}
	}
}

// Scripts of the users' own can't make labels without end.
func TestScriptsAreCapped(t *testing.T) {
	m := holdfastprom.New(nil)
	store := m.Store(broken{}, "")
	for i := range 3 * holdfastprom.MaxClasses {
		_, _ = store.Eval(t.Context(), driver.Call{Script: driver.NewScript(string(rune('a'+i)), "return 1")})
	}
	if n := scrape(t, m)["holdfast_store_calls_total{other,}"]; n != 2*holdfastprom.MaxClasses {
		t.Errorf("calls of other scripts: got %v, want %d", n, 2*holdfastprom.MaxClasses)
	}
}
