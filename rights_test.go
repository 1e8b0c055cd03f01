package holdfast_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// refusing is a store whose server refuses all.
type refusing struct {
	say func(call driver.Call) string
}

func (s refusing) Eval(_ context.Context, call driver.Call) ([]string, error) {
	return nil, driver.ServerError(s.say(call))
}

func (s refusing) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s refusing) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s refusing) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, driver.ServerError(s.say(driver.Call{}))
}

func (s refusing) Scan(context.Context, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("", driver.ServerError(s.say(driver.Call{}))) }
}

func (refusing) Sharded() bool { return false }

// A refusal reaches the caller with what to do about it, and is no outage.
func TestRefusalsAreExplained(t *testing.T) {
	for _, said := range []driver.ServerError{"NOPERM User app has no permissions to run the 'evalsha' command", "NOPERM No permissions to access a key", "ERR unknown command 'EVALSHA'"} {
		client := holdfast.New(refusing{func(driver.Call) string { return string(said) }}, nil)
		_, err := client.Mutex("n").TryLock(t.Context())
		if want := wire.Explain(said, "holdfast:n").Error(); !errors.Is(err, said) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		if errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("got %v, which is unreachable, want a refusal", err)
		}
		_ = client.Close()
	}
}

// A list that the server refuses is a refusal with its right, and not an outage.
func TestRefusedNames(t *testing.T) {
	client := holdfast.New(refusing{func(driver.Call) string { return "NOPERM this user has no permissions to run the 'scan' command" }}, nil)
	defer func() { _ = client.Close() }()
	for _, err := range admin.Of(client).Names(t.Context(), "") {
		if _, said := errors.AsType[driver.ServerError](err); !said || errors.Is(err, holdfast.ErrUnreachable) || !strings.Contains(err.Error(), "+scan") {
			t.Errorf("got %v, want a refusal that names +scan, and not an outage", err)
		}
	}
}

// Who waits for a person reads a time with a sensible number of digits.
func TestHeldErrorRounds(t *testing.T) {
	for remaining, want := range map[time.Duration]string{
		14567 * time.Millisecond: " for 14.6s unless", time.Millisecond: " for 100ms unless", -1: ", without expiry",
	} {
		e := &holdfast.HeldError{Name: "n", Owner: "A", Remaining: remaining}
		if got := e.Error(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// A Lock whose deadline ends while the server refuses says so: a caller that
// knew only of the deadline would believe that the name is held.
func TestLockSaysWhatRefusedIt(t *testing.T) {
	const oom = "OOM command not allowed when used memory > 'maxmemory'."
	store := refusing{func(driver.Call) string { return oom }}
	client := holdfast.New(store, nil)
	defer client.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := client.Mutex("n").Lock(ctx)
	for _, want := range []error{context.DeadlineExceeded, holdfast.ErrUnreachable, driver.ServerError(oom)} {
		if !errors.Is(err, want) {
			t.Errorf("after a deadline: got %v, want %v in it", err, want)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := client.Mutex("n").Lock(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("after a cancel: got %v, want that alone", err)
	}
}
