package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Exit codes. 64 to 77 are those of sysexits.h, 126 and 127 those of the shell.
const (
	ExitUsage         = 64  // the command line is wrong, or the URL does not fit the server
	ExitUnreachable   = 69  // no answer from the server
	ExitSoftware      = 70  // anything else that went wrong
	ExitTempFail      = 75  // the name is held, or by another than was meant, or a quorum has no majority: try later
	ExitNoPerm        = 77  // the server refused: password, user or rights
	ExitConfig        = 78  // a file that a flag names can't be read or written, or holds something else
	ExitLost          = 122 // the lease was lost while the command ran
	ExitMaxHold       = 124 // the command was stopped at --max-hold, as timeout(1) has it
	ExitNotExecutable = 126
	ExitNotFound      = 127
	ExitInterrupted   = 130 // ctrl-C
)

// ExitError ends the process with code. A nil err prints nothing: the command
// has said what there is to say.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Exit is an error that ends the process with code, see ExitError.
func Exit(code int, err error) error { return &ExitError{code, err} }

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error {
	return Exit(ExitUsage, fmt.Errorf(format, args...))
}

// Denied reports whether a server's error is about rights.
func Denied(answer string) bool {
	// The last two are what servers before 7.2, and since, say from within a script.
	for _, kind := range []string{"NOPERM", "NOAUTH", "WRONGPASS", "The user executing the script can't", "ACL failure in script"} {
		if strings.Contains(answer, kind) {
			return true
		}
	}
	return false
}

// Reason is why the store failed, without the library's own words around it:
// those say what that means for a program.
func Reason(err error) string {
	var several interface{ Unwrap() []error }
	for errors.As(err, &several) && len(several.Unwrap()) > 0 {
		causes := several.Unwrap()
		err = causes[len(causes)-1]
	}
	return strings.TrimPrefix(err.Error(), "holdfast: ")
}

// Why is reason, and in words what a context says.
func Why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return Reason(err)
}
