package holdfast

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
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
	ErrReleased = wire.ErrReleased
	// ErrDeadlock means that the context belongs to a lease of the same name, so the
	// call would wait for itself. See [Mutex.Reentrant].
	ErrDeadlock = errors.New("holdfast: this context already holds the name")
	// ErrClosed means that the [Client] was closed.
	ErrClosed = wire.ErrClosed
	// ErrName means that the name cannot be a key. A [*NameError] has the reason.
	ErrName = errors.New("holdfast: bad name")
	// ErrUnreachable means that the store did not answer, or returned transient errors,
	// until the client gave up. The state of the lock is unknown.
	ErrUnreachable = wire.ErrUnreachable
	// ErrUnknown means that Redis did not confirm a release. The name may be free or
	// still held. The client retries in the background until the lease would have
	// expired.
	ErrUnknown = wire.ErrUnknown
	// ErrTooSlow means that the TTL is too short for the round trip: a grant arrived
	// when it was over or nearly over. A [*TooSlowError] has both times.
	ErrTooSlow = errors.New("holdfast: ttl too short for this network")
	// ErrReplicas means that fewer replicas than [Options.WaitReplicas] acknowledged
	// the grant in time. The client gave the grant back. A [*ReplicasError] has the
	// numbers.
	ErrReplicas = errors.New("holdfast: too few replicas")
	// ErrVersion means that a process with a later version of holdfast uses the name, and
	// stores it in a way that this version cannot read. The call has written nothing.
	// Update this process. It works on all other names. See docs/adr/0043-another-version.md.
	ErrVersion = wire.ErrVersion
)

// HeldError describes the holder that a TryLock found.
type HeldError struct {
	Name      string
	Owner     string        // label of the holder; empty if foreign or unknown
	Foreign   bool          // held by a client of another library
	Cooldown  bool          // in cool-down after Owner's hold: not held and not available yet, see Mutex.MinHold
	Remaining time.Duration // until its expiry in Redis; negative if it has none
	Waiters   int           // processes in the queue; if this process has the name, its own calls that wait
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

	Revoked  Cause = "revoked"  // Revoke of package admin ended the lease: the name stays held until Release or for a ttl
	Stolen   Cause = "stolen"   // a Steal ended the lease and gave the name away
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
	return fmt.Sprintf("holdfast: name %q %s", keyspace.Shorten(e.Name), e.Reason)
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
