package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
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
	// until the client gave up. The state of the lock is unknown. A [*WaitError] matches
	// it if the deadline of a call ended before that.
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
	fmt.Fprintf(&b, "holdfast: %s is held by %s", e.Name, holderText(e.Owner, e.Foreign))
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
	Exported Cause = "exported" // Lease.Export ended the lease: another process may adopt it; its event is LeaseExported
)

// WaitError is the error of a call whose ctx ended before it got a name. It has what
// the last answer of Redis said about the name, and needs no further round trip. It
// matches the error of ctx and [context.Cause] of ctx, and [ErrUnreachable] if
// Unreachable is set.
type WaitError struct {
	Name     string
	Owner    string        // label of the holder; empty if foreign or unknown
	Foreign  bool          // held by a client of another library
	Cooldown bool          // in cool-down after Owner's hold, see Mutex.MinHold
	Position int           // place in the queue, 1 is the next; 0: unknown, or not in the queue
	Waiters  int           // calls of this Client that wait, and processes that wait before it, as far as known
	Waited   time.Duration // since the call
	Err      error         // of ctx: context.DeadlineExceeded or context.Canceled
	Cause    error         // context.Cause of ctx

	// Unreachable is set after a deadline if Redis seems unreachable: since the call
	// began, a request of this Client about the name failed or had no answer for 100 ms,
	// and no answer about the name came in that time. It is nil while this Client holds
	// the name.
	Unreachable error
}

func newWaitError(f *machine.Waited) *WaitError {
	e := &WaitError{
		Name: f.Name, Owner: f.Owner, Foreign: f.Foreign, Cooldown: f.Cooldown, Position: f.Position, Waiters: f.Waiters,
		Waited: f.Took, Err: f.Ended, Cause: f.Cause,
	}
	if errors.Is(f.Ended, context.DeadlineExceeded) {
		e.Unreachable = publicError(f.Outage)
	}
	return e
}

func (e *WaitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "holdfast: %s: %v after %v", e.Name, e.Err, roughly(e.Waited))
	if e.Cause != nil && e.Cause != e.Err { //nolint:errorlint // that very one
		fmt.Fprintf(&b, " (%v)", e.Cause)
	}
	separator := ": "
	add := func(text string) {
		b.WriteString(separator + text)
		separator = ", "
	}
	switch {
	case e.Unreachable != nil:
		add(fmt.Sprintf("store unreachable: %v", e.Unreachable))
		return b.String()
	case e.Cooldown:
		add("in cool-down after " + cmp.Or(e.Owner, "another"))
	case e.Owner != "" || e.Foreign:
		add("held by " + holderText(e.Owner, e.Foreign))
	}
	if e.Position > 0 {
		add(ordinal(e.Position) + " in the queue")
	} else if e.Waiters > 1 {
		add(fmt.Sprintf("%d waiting", e.Waiters))
	}
	return b.String()
}

// Unwrap returns the error of ctx, its cause, and [ErrUnreachable] with its reason if
// Redis seems unreachable.
func (e *WaitError) Unwrap() []error {
	all := []error{e.Err}
	if e.Cause != nil && e.Cause != e.Err { //nolint:errorlint // that very one
		all = append(all, e.Cause)
	}
	if e.Unreachable != nil {
		all = append(all, ErrUnreachable, e.Unreachable)
	}
	return all
}

// roughly rounds a duration for people.
func roughly(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// holderText names a holder.
func holderText(owner string, foreign bool) string {
	switch {
	case owner != "":
		return owner
	case foreign:
		return "a client of another library"
	}
	return "another holder"
}

// ordinal returns 1st, 2nd and so on.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

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

// ErrTenure means that the given tenure does not hold the name, or no longer. A
// [*TenureError] names the holder.
var ErrTenure = errors.New("holdfast: not the holder")

// TenureError means that a Revoke or Steal was for a tenure that does not hold the
// name. It describes the holder instead.
type TenureError struct {
	Name      string
	Tenure    string // hash that the call gave
	Free      bool   // the name has no holder; the other fields are empty
	Owner     string // label of the holder; empty if foreign
	Hash      string // hash of the holder's tenure
	Foreign   bool   // held by a client of another library
	Cooldown  bool   // not held, but in cool-down after the hold of Owner
	Remaining time.Duration
}

func (e *TenureError) Error() string {
	text := fmt.Sprintf("holdfast: %s is not held by tenure %s", e.Name, e.Tenure)
	owner := cmp.Or(e.Owner, "another")
	switch {
	case e.Free:
		return text + ": it is free"
	case e.Cooldown:
		text += fmt.Sprintf(": it is in cool-down until MinHold has passed after the hold of %s", owner)
		if e.Remaining > 0 {
			text += fmt.Sprintf(", in %v", e.Remaining.Round(time.Millisecond))
		}
		return text
	case e.Hash == e.Tenure:
		return fmt.Sprintf("holdfast: %s is held by a client of another library: holdfast cannot revoke or steal it; if that client is dead, delete the key in Redis", e.Name)
	case e.Foreign:
		return text + ", but by a client of another library"
	}
	return text + fmt.Sprintf(", but by tenure %s of %s", e.Hash, owner)
}

// tenureError returns the error for a tenure that does not hold the name. The lock key
// has value if held is set.
func tenureError(name, tenure, value string, held bool) *TenureError {
	e := &TenureError{Name: name, Tenure: tenure, Free: !held}
	if id, ours := keyspace.ParseID(value); ours {
		e.Owner, e.Hash = id.Owner, keyspace.HashID(value)
	} else if e.Owner, e.Cooldown = keyspace.CooldownOwner(value); !e.Cooldown && !e.Free {
		e.Hash, e.Foreign = keyspace.HashID(value), true
	}
	return e
}

// Unwrap returns [ErrTenure].
func (e *TenureError) Unwrap() error { return ErrTenure }

// Kind is the kind of lock that a name has. A name has one kind at a time, as long as
// it is held.
type Kind string

// The kinds of lock.
const (
	KindMutex     Kind = "mutex"
	KindSemaphore Kind = "semaphore"
	KindRWMutex   Kind = "rwmutex"
)

func kindOf(letter byte) Kind {
	switch letter {
	case keyspace.Permits:
		return KindSemaphore
	case keyspace.Reader, keyspace.Writer:
		return KindRWMutex
	}
	return KindMutex
}

// ErrKind means that the name has another kind. A [*KindError] names both kinds.
var ErrKind = errors.New("holdfast: the name has another kind")

// KindError has the requested kind of a name and its actual kind.
type KindError struct {
	Name       string
	Kind       Kind // requested
	Size       int  // requested size of a semaphore; else 0
	Actual     Kind
	ActualSize int // actual size of a semaphore, if known; else 0
}

func (e *KindError) Error() string {
	return fmt.Sprintf("holdfast: %s is %s, not %s", e.Name, described(e.Actual, e.ActualSize), described(e.Kind, e.Size))
}

// Unwrap returns [ErrKind].
func (e *KindError) Unwrap() error { return ErrKind }

func described(kind Kind, size int) string {
	switch {
	case kind == KindSemaphore && size > 0:
		return fmt.Sprintf("a semaphore of %d", size)
	case kind == KindRWMutex:
		return "an RWMutex"
	}
	return "a " + string(kind)
}

// ErrQuorum means that the stores do not form the quorum of the quorum-id, or return a
// permanent error. A [*QuorumError] has the error of each node.
var ErrQuorum = wire.ErrQuorum

// QuorumError has the reason of each node that gave no vote.
type QuorumError struct {
	Need  int     // number of nodes in a majority
	Nodes []error // in the order of the stores; nil if the node answered
}

func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d nodes must vote", e.Need, len(e.Nodes))
	for i, err := range e.Nodes {
		if err != nil {
			fmt.Fprintf(&b, "; node %d: %v", i+1, err)
		}
	}
	return b.String()
}
