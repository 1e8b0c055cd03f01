package call_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/script"
)

const tryAgain = driver.ServerError("TRYAGAIN Multiple keys request during rehashing of slot")

// While a slot is split, what must not wait is done to the lock key alone.
func TestEvalWhileASlotIsSplit(t *testing.T) {
	lock, shared := []string{"lock", "fence", "queue"}, []string{"lock", "fence", "queue", "holders", "revocation"}
	for _, test := range []struct {
		s          *driver.Script
		keys, args []string
		want       *driver.Script
		on         string
		with       []string
	}{
		{script.Unlock, lock, []string{"id", "shard", "fresh"}, script.UnlockKeyOnly, "lock", []string{"id"}},
		{script.Cooldown, lock, []string{"id", "500", "owner", "shard"}, script.UnlockKeyOnly, "lock", []string{"id", "500", "owner"}},
		{script.Renew, lock, []string{"id", "64"}, script.RenewKeyOnly, "lock", []string{"id"}},
		{script.Renew, lock, []string{"id", "0", "9000"}, script.RenewKeyOnly, "lock", []string{"id", "9000"}},
		{script.Held, lock, []string{"id"}, script.Held, "lock", []string{"id"}},
		{script.SharedUnlock, shared, []string{"id", "shard"}, script.SharedUnlockKeyOnly, "holders", []string{"id"}},
		{script.SharedRenew, shared, []string{"id", "0", "shard", "2"}, script.SharedRenewKeyOnly, "holders", []string{"id"}},
		{script.Lock, lock, []string{"id"}, nil, "", nil},
	} {
		var runs []driver.Call
		_, s := newCaller(t, func(_ context.Context, call driver.Call) ([]string, error) {
			if runs = append(runs, call); call.Script == test.s && len(call.Keys) > 1 {
				return nil, tryAgain
			}
			return []string{"dropped"}, nil
		})
		one := driver.Call{Script: test.s, Keys: test.keys, Args: test.args}
		reply, err := call.FallBack(t.Context(), s, one, tryAgain)
		if test.want == nil {
			if err != error(tryAgain) || len(runs) != 0 { //nolint:errorlint // that very one
				t.Errorf("%s: got %v after %d further runs, want the refusal", test.s.Name, err, len(runs))
			}
			continue
		}
		if err != nil || !slices.Equal(reply, []string{"dropped"}) {
			t.Errorf("%s: got %q, %v", test.s.Name, reply, err)
		}
		if got := runs[0]; got.Script != test.want || !slices.Equal(got.Keys, []string{test.on}) || !slices.Equal(got.Args, test.with) {
			t.Errorf("%s: then %s %q %q, want %s %q %q", test.s.Name, got.Script.Name, got.Keys, got.Args, test.want.Name, test.on, test.with)
		}
		runs = nil
		if r := call.EvalAll(t.Context(), s, []driver.Call{one, one}); !slices.Equal(r[0].Reply, []string{"dropped"}) || len(runs) != 4 {
			t.Errorf("%s in a pipeline: got %v after %d runs", test.s.Name, r, len(runs))
		}
	}
}

// After another error nothing is done to the lock key.
func TestEvalRefused(t *testing.T) {
	runs := 0
	_, s := newCaller(t, func(context.Context, driver.Call) ([]string, error) {
		runs++
		return nil, nil
	})
	full := driver.ServerError("OOM command not allowed")
	if _, err := call.FallBack(t.Context(), s, driver.Call{Script: script.Unlock, Keys: []string{"lock"}, Args: []string{"id"}}, full); !errors.As(err, new(driver.ServerError)) || runs != 0 {
		t.Errorf("got %v after %d further runs, want the refusal", err, runs)
	}
}
