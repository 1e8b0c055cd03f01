package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

var (
	// ErrUnreachable is holdfast.ErrUnreachable.
	ErrUnreachable = errors.New("holdfast: store unreachable")
	// ErrNoAnswer means that one attempt ended before its answer. The script may run later.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrVersion is holdfast.ErrVersion.
	ErrVersion = errors.New("holdfast: another version of the protocol uses the name")

	// ErrReleased is holdfast.ErrReleased.
	ErrReleased = errors.New("holdfast: lease released")
	// ErrClosed is holdfast.ErrClosed.
	ErrClosed = errors.New("holdfast: client closed")
	// ErrUnknown is holdfast.ErrUnknown.
	ErrUnknown = errors.New("holdfast: unknown whether the lease was released")
	// ErrQuorum is holdfast.ErrQuorum.
	ErrQuorum = errors.New("holdfast: no such quorum")
	// ErrSize is holdfast.ErrSize.
	ErrSize = errors.New("holdfast: bad number of permits")
)

// VersionError means that another version of the protocol wrote a key of a name. It is an answer of
// the server: nothing was written, and asking again does not help.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("a process with another version of holdfast uses the name (protocol %d, this process has %d): update this process", e.Version, keyspace.Version)
}

// Is reports that it is an [ErrVersion].
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// Unwrap returns an error of the server: that answered.
func (e *VersionError) Unwrap() error {
	return driver.ServerError(versionSaid + strconv.Itoa(e.Version))
}

// versionSaid begins what a script says of another version, see part/refuse_version.lua.
const versionSaid = "HOLDFAST version "

// versionIn returns the version that a script met, or 0.
func versionIn(said string) int {
	_, rest, _ := strings.Cut(said, versionSaid)
	digits, _, _ := strings.Cut(rest, " ")
	version, _ := strconv.Atoi(digits)
	return version
}

// Failure is the error of an operation on a name that had to give up. sentinel says what that
// means for the caller, and may be nil; err is what the store said.
func Failure(name string, sentinel, err error) error {
	if final, ok := err.(*Final); ok { //nolint:errorlint // it is never wrapped
		sentinel, err = final.Sentinel, final.Err
	}
	return &failure{name, sentinel, err}
}

// Final is an error that no retry can solve, although no server said so. Sentinel says what it
// means for the caller.
type Final struct{ Sentinel, Err error }

func (e *Final) Error() string { return e.Err.Error() }

// InFailure replaces the cause of an error that [Failure] made. It returns another error as it is.
func InFailure(err error, replace func(error) error) error {
	if e, ok := err.(*failure); ok { //nolint:errorlint // the outermost alone
		return Failure(e.name, e.sentinel, replace(e.err))
	}
	return err
}

// WithoutFailure returns the cause of an error that [Failure] made. It returns another error as it is.
func WithoutFailure(err error) error {
	if e, ok := err.(*failure); ok { //nolint:errorlint // the outermost alone
		return e.err
	}
	return err
}

type failure struct {
	name     string
	sentinel error
	err      error
}

func (e *failure) Error() string {
	if e.sentinel == nil {
		return fmt.Sprintf("holdfast: %s: %v", e.name, e.err)
	}
	return fmt.Sprintf("%v (%s): %v", e.sentinel, e.name, e.err)
}

func (e *failure) Unwrap() []error {
	if e.sentinel == nil {
		return []error{e.err}
	}
	return []error{e.sentinel, e.err}
}

// Unanswered is the Failure of an operation that asked the store once: a permanent error with
// what to do about it, or ErrUnreachable.
func Unanswered(name, key string, err error) error {
	if said, ok := AsServerError(err); ok && !Transient(said) {
		return Failure(name, nil, Explain(said, key))
	}
	return Failure(name, ErrUnreachable, err)
}

// AsServerError finds the error reply of the server in err.
func AsServerError(err error) (driver.ServerError, bool) {
	if err == nil {
		return "", false
	}
	var said driver.ServerError
	ok := errors.As(err, &said)
	return said, ok
}

// demotedWhileWaiting is what WAIT says where the server has become a replica after
// the calls in front of it.
const demotedWhileWaiting = "WAIT cannot be used with replica"

// Transient reports whether an error may be gone at the next attempt: each failure of the
// network, and each answer of the server that is about its state and not about the request.
func Transient(err error) bool {
	var said driver.ServerError
	if !errors.As(err, &said) {
		return !errors.As(err, new(*Final))
	}
	word, _, _ := strings.Cut(string(said), " ")
	switch word {
	case "READONLY", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "BUSY", "OOM",
		"MASTERDOWN", "NOREPLICAS", "MISCONF", "UNBLOCKED", "NOSCRIPT", "FAILOVER":
		return true
	}
	// Older servers wrap an error inside a script in a sentence of their own.
	for _, state := range []string{"-OOM ", "-READONLY ", "-MISCONF ", "-NOREPLICAS ", "OOM command not allowed", "max number of clients", "non local key", demotedWhileWaiting} {
		if strings.Contains(string(said), state) {
			return true
		}
	}
	return false
}

// MayHaveMoved reports whether, after this error, another server may answer than before.
func MayHaveMoved(err error) bool {
	var said driver.ServerError
	if !errors.As(err, &said) {
		return true
	}
	word, _, _ := strings.Cut(string(said), " ")
	return word == "READONLY" || word == "LOADING" || word == "MASTERDOWN" || word == "CLUSTERDOWN" || word == "FAILOVER" || word == "MOVED" || strings.Contains(string(said), demotedWhileWaiting)
}

// Unwritten reports whether our script stopped before its first write: a key is of another
// type, or holds what it may not.
func Unwritten(err error) bool {
	said, ok := AsServerError(err)
	return ok && (strings.Contains(string(said), "WRONGTYPE ") || strings.HasPrefix(string(said), "HOLDFAST ") || versionIn(string(said)) > 0)
}

// MayStillRun reports whether the request may run after this error.
func MayStillRun(err error) bool {
	return errors.Is(err, ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// WithoutContext replaces the end of a context that bounds one attempt by ErrNoAnswer: it must
// not look like the end of the caller's context.
func WithoutContext(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return ErrNoAnswer
	}
	return err
}

// Explain adds what to do to an answer that does not say it. lock is the key of the lock, or
// empty.
func Explain(said driver.ServerError, lock string) error {
	if version := versionIn(string(said)); version > 0 {
		return &VersionError{version}
	}
	switch {
	case strings.Contains(string(said), "WRONGTYPE"):
		return fmt.Errorf("another program or another kind of lock uses the key %s, or a key derived from it; use another name or prefix: %w", keyspace.Shorten(lock), said)
	case Denied(string(said)):
		right := missingRight(string(said), lock)
		if right != "" {
			right = ", " + right
		}
		return fmt.Errorf("the server's user lacks a right that holdfast needs%s: %w", right, said)
	}
	if why := tooOld(string(said)); why != "" {
		return fmt.Errorf("%s: %w", why, said)
	}
	return said
}
