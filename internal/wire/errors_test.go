package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// lineOf is where a script calls a command.
func lineOf(s *driver.Script, command string) int {
	before, _, _ := strings.Cut(s.Source, "'"+command+"'")
	return strings.Count(before, "\n") + 1
}

// In the words of each server version, an error for want of a right names the right, and one
// for want of a newer server says so. The server's words stay.
func TestExplain(t *testing.T) {
	s := script.Lock
	for said, want := range map[driver.ServerError]string{
		"NOPERM this user has no permissions to run the 'evalsha' command":                       "+evalsha",
		"NOPERM User app has no permissions to run the 'evalsha' command":                        "+evalsha",
		"NOPERM this user has no permissions to run the 'evalsha' command or its subcommand":     "+evalsha",
		"NOPERM this user has no permissions to access one of the keys used as arguments":        "~holdfast:n and ~holdfast/*",
		"NOPERM No permissions to access a key":                                                  "~holdfast:n and ~holdfast/*",
		"NOPERM this user has no permissions to access one of the channels used as arguments":    "&holdfast/push:*",
		"ERR Error running script: Write commands not allowed after non deterministic commands.": "needs Redis 5 or newer",
		"ERR unknown command 'EVALSHA'":                                                          "needs Redis 5 or newer",
		"WRONGTYPE Operation against a key holding the wrong kind of value":                      "uses the key holdfast:n",
		driver.ServerError(fmt.Sprintf("ERR The user executing the script can't run this command or subcommand script: %s, on @user_script:%d.", s.SHA, lineOf(s, "ZCARD"))):                                          "+zcard",
		driver.ServerError(fmt.Sprintf("ERR Error running script (call to f_%s): @user_script:%d: @user_script: %[2]d: The user executing the script can't run this command or subcommand", s.SHA, lineOf(s, "SET"))): "+set",
		driver.ServerError(fmt.Sprintf("ERR ACL failure in script: User app has no permissions to run the 'time' command script: %s, on @user_script:1.", s.SHA)):                                                     "+time",
	} {
		err := wire.Explain(said, "holdfast:n")
		why, kept := strings.CutSuffix(err.Error(), string(said))
		if !kept || !errors.Is(err, said) || !strings.Contains(why, want) {
			t.Errorf("got %v, want the server's words and %q before them", err, want)
		}
	}
	if err := wire.Explain("ERR something else", "k"); err != error(driver.ServerError("ERR something else")) { //nolint:errorlint // that very one
		t.Errorf("got %v, want the server's words alone", err)
	}
}

func TestWhatErrorsMean(t *testing.T) {
	inScript := func(s string) error {
		return driver.ServerError("ERR Error running script (call to f_0): @user_script:1: " + s)
	}
	for _, test := range []struct {
		err                                   error
		transient, moved, unwritten, stillRun bool
	}{
		{err: io.ErrUnexpectedEOF, transient: true, moved: true},
		{err: context.DeadlineExceeded, transient: true, moved: true, stillRun: true},
		{err: fmt.Errorf("read: %w", os.ErrDeadlineExceeded), transient: true, moved: true, stillRun: true},
		{err: wire.ErrNoAnswer, transient: true, moved: true, stillRun: true},
		{err: driver.ServerError("TRYAGAIN Multiple keys request"), transient: true},
		{err: fmt.Errorf("wrapped: %w", driver.ServerError("MOVED 1 a:1")), transient: true, moved: true},
		{err: driver.ServerError("READONLY You can't write"), transient: true, moved: true},
		{err: driver.ServerError("ERR WAIT cannot be used with replica instances."), transient: true, moved: true},
		{err: inScript("-OOM command not allowed"), transient: true},
		{err: inScript("-READONLY You can't write"), transient: true},
		{err: driver.ServerError("NOPERM no")},
		{err: driver.ServerError("ERR unknown command")},
		{err: inScript("WRONGTYPE Operation"), unwritten: true},
		{err: driver.ServerError("HOLDFAST stale: 7"), unwritten: true},
	} {
		if got := wire.Transient(test.err); got != test.transient {
			t.Errorf("%v: Transient: got %v", test.err, got)
		}
		if got := wire.MayHaveMoved(test.err); got != test.moved {
			t.Errorf("%v: MayHaveMoved: got %v", test.err, got)
		}
		if got := wire.Unwritten(test.err); got != test.unwritten {
			t.Errorf("%v: Unwritten: got %v", test.err, got)
		}
		if got := wire.MayStillRun(test.err); got != test.stillRun {
			t.Errorf("%v: MayStillRun: got %v", test.err, got)
		}
	}
}

func TestFailures(t *testing.T) {
	refused, gone := driver.ServerError("NOPERM no"), io.ErrUnexpectedEOF
	if err := wire.Unanswered("n", "k", refused); errors.Is(err, wire.ErrUnreachable) || !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "holdfast: n: ") {
		t.Errorf("a refusal: got %v", err)
	}
	if err := wire.Unanswered("n", "k", gone); !errors.Is(err, wire.ErrUnreachable) || !errors.Is(err, gone) || err.Error() != "holdfast: store unreachable (n): unexpected EOF" {
		t.Errorf("no answer: got %v", err)
	}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := wire.WithoutContext(err); got != wire.ErrNoAnswer { //nolint:errorlint // that very one
			t.Errorf("%v: got %v, want %v", err, got, wire.ErrNoAnswer)
		}
	}
}
