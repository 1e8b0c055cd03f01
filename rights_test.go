package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
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

// lineOf is where a script calls a command.
func lineOf(s *driver.Script, command string) int {
	before, _, _ := strings.Cut(s.Source, "'"+command+"'")
	return strings.Count(before, "\n") + 1
}

// Whatever a server's version calls it, an error for want of a right names the
// right, and one for want of a newer server says so. The server's word stays.
func TestRefusalsAreExplained(t *testing.T) {
	for _, test := range []struct {
		say  func(driver.Call) string
		want string
	}{
		{func(driver.Call) string { return "NOPERM this user has no permissions to run the 'evalsha' command" }, "+evalsha"},
		{func(driver.Call) string { return "NOPERM User app has no permissions to run the 'evalsha' command" }, "+evalsha"},
		{func(driver.Call) string {
			return "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand"
		}, "+evalsha"},
		{func(driver.Call) string {
			return "NOPERM this user has no permissions to access one of the keys used as arguments"
		}, "~holdfast:n and ~holdfast/*"},
		{func(driver.Call) string { return "NOPERM No permissions to access a key" }, "~holdfast:n and ~holdfast/*"},
		{func(call driver.Call) string {
			return fmt.Sprintf("ERR The user executing the script can't run this command or subcommand script: %s, on @user_script:%d.", call.Script.SHA, lineOf(call.Script, "ZCARD"))
		}, "+zcard"},
		{func(call driver.Call) string {
			return fmt.Sprintf("ERR Error running script (call to f_%s): @user_script:%d: @user_script: %[2]d: The user executing the script can't run this command or subcommand", call.Script.SHA, lineOf(call.Script, "SET"))
		}, "+set"},
		{func(call driver.Call) string {
			return fmt.Sprintf("ERR ACL failure in script: User app has no permissions to run the 'time' command script: %s, on @user_script:1.", call.Script.SHA)
		}, "+time"},
		{func(driver.Call) string {
			return "ERR Error running script (call to f_0): @user_script:34: @user_script: 34: Write commands not allowed after non deterministic commands. Call redis.replicate_commands()"
		}, "needs Redis 5 or newer"},
		{func(driver.Call) string { return "ERR unknown command 'EVALSHA'" }, "needs Redis 5 or newer"},
	} {
		client := holdfast.New(refusing{test.say}, nil)
		_, err := client.Mutex("n").TryLock(t.Context())
		said, ok := errors.AsType[driver.ServerError](err)
		if !ok || !strings.Contains(err.Error(), string(said)) || !strings.Contains(strings.TrimSuffix(err.Error(), string(said)), test.want) {
			t.Errorf("got %v, want the server's word and %q before it", err, test.want)
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
	for _, err := range client.Names(t.Context(), "") {
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
	if _, err := client.Mutex("n").Lock(ctx); err != context.Canceled { //nolint:errorlint // that very one
		t.Errorf("after a cancel: got %v, want that alone", err)
	}
}
