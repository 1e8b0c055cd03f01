package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// Errors that a caller may have to handle. Test for them with [errors.Is]; the typed
// errors say more.
var (
	// ErrHeld means that another holder has the name. A [*HeldError] names the holder.
	ErrHeld = errors.New("holdfast: held by another holder")
	// ErrLost means that the lease ended before its Release. A [*LostError] has the
	// cause.
	ErrLost = errors.New("holdfast: lease lost")
	// ErrReleased means that the lease was released. It is the cause of the contexts of
	// a released lease.
	ErrReleased = errors.New("holdfast: lease released")
	// ErrDeadlock means that the context belongs to a lease of the same name, so the
	// call would wait for itself. See [Mutex.Reentrant].
	ErrDeadlock = errors.New("holdfast: this context already holds the name")
	// ErrClosed means that the [Client] was closed.
	ErrClosed = errors.New("holdfast: client closed")
	// ErrName means that the name cannot be a key. A [*NameError] has the reason.
	ErrName = errors.New("holdfast: bad name")
	// ErrUnreachable means that the store did not answer, or returned transient errors,
	// until the client gave up. The state of the lock is unknown.
	ErrUnreachable = errors.New("holdfast: store unreachable")
	// ErrUnknown means that Redis did not confirm a release. The name may be free or
	// still held. The client retries in the background until the lease would have
	// expired.
	ErrUnknown = errors.New("holdfast: unknown whether the lease was released")
	// ErrTooSlow means that the TTL is too short for the round trip: a grant arrived
	// when it was over or nearly over. A [*TooSlowError] has both times.
	ErrTooSlow = errors.New("holdfast: ttl too short for this network")
	// ErrReplicas means that fewer replicas than [Options.WaitReplicas] acknowledged
	// the grant in time. The client gave the grant back. A [*ReplicasError] has the
	// numbers.
	ErrReplicas = errors.New("holdfast: too few replicas")
)

// HeldError describes the holder that a TryLock found.
type HeldError struct {
	Name      string
	Owner     string        // label of the holder; empty if foreign or unknown
	Foreign   bool          // held by a client of another library
	Cooldown  bool          // in cool-down after Owner's hold: not held and not available yet, see Mutex.MinHold
	Remaining time.Duration // until its expiry in Redis; negative if it has none
	Waiters   int           // processes in the queue
}

func (e *HeldError) Error() string {
	var b strings.Builder
	if e.Cooldown {
		return fmt.Sprintf("holdfast: %s is in cool-down after %s, for %v more", e.Name, cmp.Or(e.Owner, "another"), e.Remaining.Round(100*time.Millisecond))
	}
	fmt.Fprintf(&b, "holdfast: %s is held by ", e.Name)
	switch {
	case e.Owner != "":
		b.WriteString(e.Owner)
	case e.Foreign:
		b.WriteString("a client of another library")
	default:
		b.WriteString("another holder")
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

// Unwrap returns [ErrHeld].
func (e *HeldError) Unwrap() error { return ErrHeld }

// Cause is the reason for which a lease was lost.
type Cause string

// The causes of loss.
const (
	Expired Cause = "expired"  // the deadline passed without an answered renewal; with WaitReplicas, without an acknowledged one
	Taken   Cause = "taken"    // another holder has the name in Redis
	Gone    Cause = "gone"     // the key is gone: deleted, evicted, or lost by the server
	Closed  Cause = "closed"   // the Client was closed
	MaxHold Cause = "max hold" // the lease reached its MaxHold

	Revoked  Cause = "revoked"  // Client.Revoke ended the lease: the name stays held until Release or for a ttl
	Stolen   Cause = "stolen"   // Client.Steal ended the lease and gave the name away
	Exported Cause = "exported" // Lease.Export ended the lease: another process may adopt it
)

// LostError has the cause for which a lease was lost.
type LostError struct {
	Name   string
	Token  int64
	Cause  Cause
	Reason string // given to Revoke or Steal
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("holdfast: lease of %s lost: %s", e.Name, e.Cause)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Unwrap returns [ErrLost], and [ErrClosed] too if the cause is [Closed].
func (e *LostError) Unwrap() []error {
	if e.Cause == Closed {
		return []error{ErrLost, ErrClosed}
	}
	return []error{ErrLost}
}

// NameError has the reason for which a name was refused.
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("holdfast: name %q %s", shorten(e.Name), e.Reason)
}

// Unwrap returns [ErrName].
func (e *NameError) Unwrap() error { return ErrName }

// TooSlowError has the times of an [ErrTooSlow].
type TooSlowError struct {
	Name      string
	TTL       time.Duration
	RoundTrip time.Duration // from the request to the answer that came too late
}

func (e *TooSlowError) Error() string {
	return fmt.Sprintf("holdfast: %s was granted, but its ttl of %v is too short for a round trip of %v: use a longer ttl",
		e.Name, e.TTL, e.RoundTrip.Round(time.Millisecond))
}

// Unwrap returns [ErrTooSlow].
func (e *TooSlowError) Unwrap() error { return ErrTooSlow }

// ReplicasError has the numbers of an [ErrReplicas].
type ReplicasError struct {
	Name      string
	Want      int // Options.WaitReplicas
	Got       int // replicas that acknowledged in time
	Connected int // replicas of the server; negative if unknown
}

func (e *ReplicasError) Error() string {
	text := fmt.Sprintf("holdfast: %d of %d replicas acknowledged the lock of %s", e.Got, e.Want, e.Name)
	switch {
	case e.Connected == 0:
		text += ": the server has no replica"
	case e.Connected > 0 && e.Connected < e.Want:
		text += fmt.Sprintf(": the server has only %d connected", e.Connected)
	}
	return text
}

// Unwrap returns [ErrReplicas].
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
	var said driver.ServerError
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
	var said driver.ServerError
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
func explain(said driver.ServerError, l string) error {
	switch {
	case strings.Contains(string(said), "WRONGTYPE"):
		return fmt.Errorf("another program or another kind of lock uses the key %s, or a key derived from it; use another name or prefix: %w", shorten(l), said)
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
