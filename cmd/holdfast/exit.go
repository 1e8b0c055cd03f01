package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
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

// exitCode is the code for err: its own, or the one of what it is about.
func (a *app) exitCode(err error) int {
	var coded *exitError
	var refused driver.ServerError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case !a.started, errors.Is(err, holdfast.ErrName), errors.Is(err, holdfast.ErrValue), errors.Is(err, holdfast.ErrKind):
		return exitUsage
	case errors.As(err, &refused) && denied(string(refused)):
		return exitNoPerm
	case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, holdfast.ErrReplicas):
		return exitUnreachable
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, holdfast.ErrTenure):
		return exitTempFail
	case errors.Is(err, holdfast.ErrLost):
		return exitLost
	}
	return exitSoftware
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

// explain is the text of err for people, with what only the command line knows:
// which server it was, and which prefix has become part of the key.
func (a *app) explain(err error) string {
	var coded *exitError
	var refused driver.ServerError
	var bad *holdfast.NameError
	switch {
	case errors.As(err, &coded):
	case errors.As(err, &bad) && a.keyPrefix() != "" && strings.ContainsAny(bad.Name, "{}"):
		return fmt.Sprintf("%v; the key is %q, because %s is %q", err, a.keyPrefix()+bad.Name, a.called("prefix"), a.keyPrefix())
	case errors.Is(err, holdfast.ErrUnreachable) && errors.As(err, &refused):
		return fmt.Sprintf("%s refused: %s", publicURL(a.redisURL), reason(err))
	case errors.Is(err, holdfast.ErrUnreachable):
		return fmt.Sprintf("no answer from %s: %s", publicURL(a.redisURL), why(err))
	}
	return err.Error()
}

// keyPrefix is the text before each name in Redis.
func (a *app) keyPrefix() string {
	switch a.prefix {
	case "":
		return holdfast.DefaultPrefix
	case holdfast.NoPrefix:
		return ""
	}
	return a.prefix
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
