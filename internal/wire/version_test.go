package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// What a script says of another version is an error that does not pass, and after which nothing is to
// be cancelled. Servers put words around what a script raises.
func TestVersionError(t *testing.T) {
	for _, said := range []driver.ServerError{
		"HOLDFAST version 2 of the protocol uses holdfast:job",
		"ERR HOLDFAST version 2 of the protocol uses holdfast:job script: 0123, on @user_script:1.",
		"ERR Error running script (call to f_0123): @user_script:1: HOLDFAST version 2 of the protocol uses holdfast:job ",
	} {
		err := wire.Failure("job", nil, wire.Explain(said, "holdfast:job"))
		if !wire.Unwritten(said) || wire.Transient(err) || !errors.Is(err, wire.ErrVersion) {
			t.Errorf("%s: reads as %v", said, err)
		}
		if want := "holdfast: job: a process with another version of holdfast uses the name (protocol 2, this process has 1): update this process"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if err := wire.Explain("HOLDFAST the fence key f holds no token", "l"); errors.Is(err, wire.ErrVersion) {
		t.Errorf("a damaged fence reads as %v", err)
	}
}

func TestAnswersWithAnotherVersion(t *testing.T) {
	const later = "v2|c.n.5000|o"
	for _, reply := range [][]string{{"held", later, "1", "0", "1"}, {"held", later + ":77", "1", "0", "1", "", "run"}, {"other kind", "v2|semaphore", "1"}} {
		if _, err := wire.DecodeAnswer(reply); !errors.Is(err, wire.ErrVersion) || wire.Transient(err) {
			t.Errorf("%q: got %v, want ErrVersion", reply, err)
		}
	}
	for _, reply := range [][]string{{"lost", later, "1"}, {"not held", later, "1"}} { // that says all about our own id
		if a, err := wire.DecodeAnswer(reply); err != nil || a.Holder != later {
			t.Errorf("%q: got %+v, %v", reply, a, err)
		}
	}
	for _, reply := range [][]string{
		{"state", "1", later, "1", "5", "100", "0", "0", "", "", ""},
		{"state", "1", "", "0", "-2", "v2|100", "0", "0", "", "", ""},
		{"state", "1", "", "0", "-2", "100", "1", "0", "", "", "", later, "1", "0"},
		{"shared", "1", "v2|semaphore", "1", "0", "0", "0", "0", "0"},
		{"shared", "1", "semaphore", "1", "0", "v2|0", "0", "0", "0"},
		{"shared", "1", "semaphore", "1", "1", "0", "1", "0", "1", later, "5", "1"},
	} {
		if s, err := wire.DecodeState(reply); err != nil || s.Version != 2 {
			t.Errorf("%s: got %+v, %v, want version 2", strings.Join(reply, " "), s, err)
		}
	}
}
