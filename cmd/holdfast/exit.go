package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Exit codes. 64 to 77 are those of sysexits.h, 126 and 127 those of the shell.
const (
	exitUsage         = 64  // the command line is wrong, or the URL does not fit the server
	exitUnreachable   = 69  // no answer from the server
	exitSoftware      = 70  // anything else that went wrong
	exitTempFail      = 75  // the name is held, or by another than was meant, or a quorum has no majority: try later
	exitNoPerm        = 77  // the server refused: password, user or rights
	exitConfig        = 78  // a file that a flag names can't be read or written, or holds something else
	exitLost          = 122 // the lease was lost while the command ran
	exitMaxHold       = 124 // the command was stopped at --max-hold, as timeout(1) has it
	exitNotExecutable = 126
	exitNotFound      = 127
	exitInterrupted   = 130 // ctrl-C
)

// exitError ends the process with code. A nil err prints nothing: the command
// has said what there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith is an error that ends the process with code, see exitError.
func exitWith(code int, err error) error { return &exitError{code, err} }

// usagef is an error of the command line.
func usagef(format string, args ...any) error {
	return exitWith(exitUsage, fmt.Errorf(format, args...))
}

// denied reports whether a server's error is about rights.
func denied(answer string) bool {
	// The last two are what servers before 7.2, and since, say from within a script.
	for _, kind := range []string{"NOPERM", "NOAUTH", "WRONGPASS", "The user executing the script can't", "ACL failure in script"} {
		if strings.Contains(answer, kind) {
			return true
		}
	}
	return false
}

// reason is why the store failed, without the library's own words around it:
// those say what that means for a program.
func reason(err error) string {
	var several interface{ Unwrap() []error }
	for errors.As(err, &several) && len(several.Unwrap()) > 0 {
		causes := several.Unwrap()
		err = causes[len(causes)-1]
	}
	return strings.TrimPrefix(err.Error(), "holdfast: ")
}

// why is reason, and in words what a context says.
func why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return reason(err)
}
