package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

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

// tenureError describes the holder whose value the lock key has.
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

// Confirm asks Redis at once whether this Client still holds the name. A lease that was
// revoked or stolen is over when Confirm returns. It blocks until Redis has answered, or
// until ctx ends. It returns the error of ctx, or [ErrClosed]; the leases say the rest.
func (c *Client) Confirm(ctx context.Context, name string) error {
	defer runtime.KeepAlive(c) // or it might be closed for want of use
	return c.engine.Confirm(ctx, name)
}

// Revoked reports whether a revocation or a steal ended the lease, and returns the given
// reason. It does not wait. After a revocation the name stays held until Release, at
// most for one ttl. Revoke and Steal are in package admin.
func (l *Lease) Revoked() (reason string, ok bool) {
	var lost *LostError
	if !errors.As(l.Err(), &lost) || lost.Cause != Revoked && lost.Cause != Stolen {
		return "", false
	}
	return lost.Reason, true
}
