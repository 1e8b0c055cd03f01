package call

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// While a slot of a Redis Cluster moves key by key, a name's keys may be on two
// servers, and a script that needs them all is refused with TRYAGAIN. That can
// last longer than a lease, so what must not wait falls back to the lock key alone.

// FallBack runs what can be done to the lock key alone, if a call was refused because its slot is split.
// Otherwise it returns the error of the call.
func FallBack(ctx context.Context, store driver.Store, call driver.Call, err error) ([]string, error) {
	if rest, ok := keyOnly(call); ok && split(err) {
		return store.Eval(ctx, rest)
	}
	return nil, err
}

// EvalAll runs calls that travel together, each with its FallBack.
func EvalAll(ctx context.Context, store driver.Store, calls []driver.Call) []driver.Result {
	results := store.EvalAll(ctx, calls)
	for i, r := range results {
		if r.Err != nil {
			results[i].Reply, results[i].Err = FallBack(ctx, store, calls[i], r.Err)
		}
	}
	return results
}

// split reports whether Redis refused a script because its keys are on two servers.
func split(err error) bool {
	said, ok := wire.AsServerError(err)
	return ok && strings.HasPrefix(string(said), "TRYAGAIN")
}

// keyOnly returns the call that does the work of a refused one on the lock key alone.
func keyOnly(call driver.Call) (driver.Call, bool) {
	switch call.Script {
	case script.Unlock:
		return driver.Call{Script: script.UnlockKeyOnly, Keys: call.Keys[:1], Args: call.Args[:1]}, true
	case script.Cooldown:
		return driver.Call{Script: script.UnlockKeyOnly, Keys: call.Keys[:1], Args: call.Args[:3]}, true
	case script.Renew:
		if len(call.Args) > 2 {
			return driver.Call{Script: script.RenewKeyOnly, Keys: call.Keys[:1], Args: []string{call.Args[0], call.Args[2]}}, true
		}
		return driver.Call{Script: script.RenewKeyOnly, Keys: call.Keys[:1], Args: call.Args[:1]}, true
	case script.Held, script.SharedHeld:
		return driver.Call{Script: call.Script, Keys: call.Keys[:1], Args: call.Args}, true
	case script.SharedUnlock:
		return driver.Call{Script: script.SharedUnlockKeyOnly, Keys: call.Keys[3:4], Args: call.Args[:1]}, true
	case script.SharedRenew:
		return driver.Call{Script: script.SharedRenewKeyOnly, Keys: call.Keys[3:4], Args: call.Args[:1]}, true
	}
	return driver.Call{}, false
}
