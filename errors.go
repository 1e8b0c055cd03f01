package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// The decisions a caller may have to take, one error each; test with
// errors.Is. What is known beside them is in the typed errors below.
var (
	// ErrHeld: somebody else has the name. A *HeldError says who.
	ErrHeld = errors.New("holdfast: held by another")
	// ErrLost: the lease ended before its Release. A *LostError says why.
	ErrLost = errors.New("holdfast: lease lost")
	// ErrReleased: the lease was given back; it is the cause with which the
	// contexts of a released lease end.
	ErrReleased = errors.New("holdfast: lease released")
	// ErrDeadlock: the context belongs to a lease of this very name, so the
	// call would wait for itself. See Mutex.Reentrant.
	ErrDeadlock = errors.New("holdfast: this context already holds the name")
	// ErrClosed: the Client was closed.
	ErrClosed = errors.New("holdfast: client closed")
	// ErrName: the name can't be a key. A *NameError says why.
	ErrName = errors.New("holdfast: bad name")
	// ErrUnreachable: the store did not answer, or refused for a reason that
	// passes, for as long as we go on trying. Nothing is known of the lock.
	ErrUnreachable = errors.New("holdfast: store unreachable")
	// ErrUnknown: the answer to a release did not come. The name may be free
	// or not; it is tried again in the background until the lease would have
	// ended anyway.
	ErrUnknown = errors.New("holdfast: unknown whether the lease was released")
	// ErrTooSlow: grants arrive when they are over, or nearly: the TTL is too
	// short for the round trip. A *TooSlowError has both.
	ErrTooSlow = errors.New("holdfast: ttl too short for this network")
	// ErrReplicas: fewer replicas than Options.WaitReplicas acknowledged the
	// grant in time, and it was given back. A *ReplicasError has the numbers.
	ErrReplicas = errors.New("holdfast: too few replicas")
)

// HeldError says who has a name that a TryLock wanted.
type HeldError struct {
	Name      string
	Owner     string        // the holder's label; empty when it is foreign or not known
	Foreign   bool          // held by a client of another library
	Cooldown  bool          // held by nobody: it rests after Owner's hold, see Mutex.MinHold
	Remaining time.Duration // until its expiry in Redis; negative: it has none
	Waiters   int           // processes in line
}

func (e *HeldError) Error() string {
	var b strings.Builder
	if e.Cooldown {
		return fmt.Sprintf("holdfast: %s rests after %s, for %v more", e.Name, cmp.Or(e.Owner, "another"), e.Remaining.Round(100*time.Millisecond))
	}
	fmt.Fprintf(&b, "holdfast: %s is held by ", e.Name)
	switch {
	case e.Owner != "":
		b.WriteString(e.Owner)
	case e.Foreign:
		b.WriteString("a client of another library")
	default:
		b.WriteString("another")
	}
	if e.Remaining < 0 {
		b.WriteString(", without expiry")
	} else if e.Remaining > 0 {
		fmt.Fprintf(&b, ", for %v unless renewed", max(e.Remaining.Round(100*time.Millisecond), 100*time.Millisecond))
	}
	if e.Waiters > 0 {
		fmt.Fprintf(&b, ", %d waiting", e.Waiters)
	}
	return b.String()
}

// Unwrap makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Unwrap() error { return ErrHeld }

// Cause is why a lease was lost.
type Cause string

// The causes of loss.
const (
	Expired Cause = "expired"  // its deadline passed without an answered renewal; with WaitReplicas, an acknowledged one
	Taken   Cause = "taken"    // Redis says that another holds the name
	Gone    Cause = "gone"     // the key is gone: deleted, evicted, or lost by the server
	Closed  Cause = "closed"   // the Client was closed
	MaxHold Cause = "max hold" // it lasted as long as MaxHold allows

	Revoked  Cause = "revoked"  // Client.Revoke asked for it: nobody else has the name before Release, or the end of its ttl
	Stolen   Cause = "stolen"   // Client.Steal gave the name away
	Exported Cause = "exported" // by Lease.Export: another process may adopt it
)

// LostError says why a lease is over that nobody released.
type LostError struct {
	Name   string
	Token  int64
	Cause  Cause
	Reason string // Revoked and Stolen: what was given as the reason
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("holdfast: lease of %s lost: %s", e.Name, e.Cause)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Unwrap makes errors.Is(err, ErrLost) true, and ErrClosed too after Close.
func (e *LostError) Unwrap() []error {
	if e.Cause == Closed {
		return []error{ErrLost, ErrClosed}
	}
	return []error{ErrLost}
}

// NameError says why a name was refused.
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("holdfast: name %q %s", shorten(e.Name), e.Reason)
}

// Unwrap makes errors.Is(err, ErrName) true.
func (e *NameError) Unwrap() error { return ErrName }

// TooSlowError has the figures of an ErrTooSlow.
type TooSlowError struct {
	Name      string
	TTL       time.Duration
	RoundTrip time.Duration // from asking to the answer that came too late
}

func (e *TooSlowError) Error() string {
	return fmt.Sprintf("holdfast: %s was granted, but its ttl of %v is too short for a round trip of %v: use a longer ttl",
		e.Name, e.TTL, e.RoundTrip.Round(time.Millisecond))
}

// Unwrap makes errors.Is(err, ErrTooSlow) true.
func (e *TooSlowError) Unwrap() error { return ErrTooSlow }

// ReplicasError has the numbers of an ErrReplicas.
type ReplicasError struct {
	Name      string
	Want      int // Options.WaitReplicas
	Got       int // replicas that acknowledged in time
	Connected int // replicas that the server has; negative: not known
}

func (e *ReplicasError) Error() string {
	text := fmt.Sprintf("holdfast: %d of %d replicas acknowledged the lock of %s", e.Got, e.Want, e.Name)
	switch {
	case e.Connected == 0:
		text += ": the server has none"
	case e.Connected > 0 && e.Connected < e.Want:
		text += fmt.Sprintf(": the server has only %d", e.Connected)
	}
	return text
}

// Unwrap makes errors.Is(err, ErrReplicas) true.
func (e *ReplicasError) Unwrap() error { return ErrReplicas }

// storeError is what the store said when a call had to give up: sentinel says
// what that means for the caller, err is the store's own word.
type storeError struct {
	name     string
	sentinel error
	err      error
}

func (e *storeError) Error() string {
	if e.sentinel == nil {
		return fmt.Sprintf("holdfast: %s: %v", e.name, e.err)
	}
	return fmt.Sprintf("%v (%s): %v", e.sentinel, e.name, e.err)
}

func (e *storeError) Unwrap() []error {
	if e.sentinel == nil {
		return []error{e.err}
	}
	return []error{e.sentinel, e.err}
}

// unanswered is the error of a call that asks the store once: refused for good, with
// what that means, or ErrUnreachable.
func unanswered(name, key string, err error) error {
	if said, ok := asServerError(err); ok && !passing(said) {
		return &storeError{name, nil, explain(said, key)}
	}
	return &storeError{name, ErrUnreachable, err}
}

// demotedWhileWaiting is what WAIT says where the server has become a replica after
// the calls in front of it.
const demotedWhileWaiting = "WAIT cannot be used with replica"

// passing reports whether an error of the store may be gone at the next try:
// every failure of the network, and those answers of a server that speak of
// its state and not of us.
func passing(err error) bool {
	var said ServerError
	if !errors.As(err, &said) {
		return true
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

// doubtful tells an error after which another server may answer than before.
func doubtful(err error) bool {
	var said ServerError
	if !errors.As(err, &said) {
		return true
	}
	word, _, _ := strings.Cut(string(said), " ")
	return word == "READONLY" || word == "LOADING" || word == "MASTERDOWN" || word == "CLUSTERDOWN" || word == "FAILOVER" || word == "MOVED" || strings.Contains(string(said), demotedWhileWaiting)
}

// unwritten tells what a script of ours says before its first write: a key is of another
// type, or holds what it may not.
func unwritten(err error) bool {
	said, ok := asServerError(err)
	return ok && (strings.Contains(string(said), "WRONGTYPE ") || strings.HasPrefix(string(said), "HOLDFAST "))
}

// late tells an error after which the request may still run.
func late(err error) bool {
	return errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// notTheCallers replaces the end of a context of ours, which bounds one attempt:
// it must not look like that of a context which a caller gave.
func notTheCallers(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errNoAnswer
	}
	return err
}

// explain adds what to do to an answer that does not say it.
func explain(said ServerError, l string) error {
	switch {
	case strings.Contains(string(said), "WRONGTYPE"):
		return fmt.Errorf("a key of this lock holds another type than holdfast writes (%s and those beside it): another program uses them, or another kind of lock: %w", shorten(l), said)
	case denied(string(said)):
		right := missingRight(string(said), l)
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

func shorten(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
