package call_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/script"
)

func TestRepeat(t *testing.T) {
	refused := driver.ServerError("NOPERM no")
	for name, test := range map[string]struct {
		answers []error // nil: "again"; then all is done
		want    error
		runs    int
		after   time.Duration
	}{
		"done at once":       {runs: 1},
		"not answered twice": {answers: []error{errGone, errGone}, runs: 3, after: 15 * time.Millisecond},
		"again":              {answers: []error{nil}, runs: 2, after: 5 * time.Millisecond},
		"refused":            {answers: []error{refused}, want: refused, runs: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			runs, began := 0, time.Now()
			_, s := newCaller(t, func(context.Context, driver.Call) ([]string, error) {
				if runs++; runs > len(test.answers) {
					return []string{"released"}, nil
				}
				return []string{"again"}, test.answers[runs-1]
			})
			err := call.Repeat(t.Context(), s, []driver.Call{ping})
			if err != test.want || runs != test.runs || time.Since(began) != test.after { //nolint:errorlint // that very one
				t.Errorf("%s: got %v after %d runs and %v, want %v, %d, %v", name, err, runs, time.Since(began), test.want, test.runs, test.after)
			}
		})
	}
}

// It returns when ctx ends, even if the driver does not.
func TestRepeatIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		_, s := newCaller(t, func(context.Context, driver.Call) ([]string, error) { <-free; return nil, errGone })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := call.Repeat(ctx, s, []driver.Call{ping}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		close(free)
	})
}

// A call that a split slot refuses is repeated on the lock key alone.
func TestRepeatWhileASlotIsSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last *driver.Script
		_, s := newCaller(t, func(_ context.Context, c driver.Call) ([]string, error) {
			if last = c.Script; last == script.Unlock {
				return nil, tryAgain
			}
			return []string{"released"}, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := call.Repeat(ctx, s, []driver.Call{{Script: script.Unlock, Keys: []string{"lock"}, Args: []string{"id"}}})
		if err != nil || last != script.UnlockKeyOnly {
			t.Errorf("got %v, last %s", err, last.Name)
		}
	})
}
