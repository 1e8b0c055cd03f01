package holdfast

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// ExportedHold is the state of a hold that [Lease.Export] gave away and no process has
// adopted. The owner of the text renews it with [Client.RenewExported] and ends it with
// [Client.ReleaseExported], for example from a shell script.
type ExportedHold struct {
	Name      string
	Owner     string        // label of the exporter
	Hash      string        // identifies the tenure, like Hash of admin.Holder
	Token     int64         // of the exported lease
	TTL       time.Duration // effect of each renewal
	Remaining time.Duration // until the holder must stop, from the return of the call; more than 0
	Waiting   int           // number of waiters
}

// RenewExported prolongs a hold that [Lease.Export] gave away, by the ttl of the
// exporter. The hold can still be adopted. No process renews it by itself. So call
// RenewExported every third of the ttl. Stop the work when [ExportedHold.Remaining] has
// passed without a successful call.
//
// [ErrLost] means that the hold is over:
//
//   - [Taken]: another holder has the name or has adopted the hold.
//   - [Gone]: it expired or was released, or the key was deleted.
//   - [Expired]: the remaining time is too short; the holder must have stopped.
//   - [Revoked] or [Stolen]: package admin ended it, or [Mutex.Steal]. A revoked hold
//     is not prolonged; its name is free after one ttl or [Client.ReleaseExported].
//
// After [ErrUnreachable] or the error of ctx, it is unknown whether the hold was
// prolonged. Other errors: [ErrExport], [ErrReplicas], [ErrTooSlow], [ErrClosed], or a
// [driver.ServerError].
func (c *Client) RenewExported(ctx context.Context, text string) (*ExportedHold, error) {
	calls, err := c.exportedCalls(ctx, text, "RenewExported")
	if err != nil {
		return nil, err
	}
	state, err := calls.Renew(ctx, c.engine.WaitReplicas)
	return exportedHold(calls.Hold, state, err)
}

// CheckExported reports the state of a hold that [Lease.Export] gave away, and changes
// nothing. Its errors are those of [Client.RenewExported] except [ErrReplicas].
func (c *Client) CheckExported(ctx context.Context, text string) (*ExportedHold, error) {
	calls, err := c.exportedCalls(ctx, text, "CheckExported")
	if err != nil {
		return nil, err
	}
	state, err := calls.Inspect(ctx)
	return exportedHold(calls.Hold, state, err)
}

// ReleaseExported ends a hold that [Lease.Export] gave away and hands the name over to
// the next waiter. It blocks until Redis has answered or ctx has ended.
//
// It returns nil if the hold was held and is over now. After a broken connection the
// client asks again, so a parallel call may have ended it. A hold that had ended before
// is [ErrLost] with its cause; so is the result of a second call. A revoked hold is
// released, and the error is ErrLost with cause [Revoked].
//
// After [ErrUnreachable] or the error of ctx, it is unknown whether the hold was
// released: call it again. Other errors are those of [Client.RenewExported].
func (c *Client) ReleaseExported(ctx context.Context, text string) error {
	calls, err := c.exportedCalls(ctx, text, "ReleaseExported")
	if err != nil {
		return err
	}
	x := calls.Hold
	released, err := calls.Release(ctx)
	if released && x.Leads { // observers poll in time if they do not get this
		announcement := election.Announcement(calls.Keys, x.ID, x.Token, c.engine.Sharded, 0, "")
		_, _ = c.engine.Calls.Run(ctx, c.engine.Attempt(), announcement)
	}
	return exportedError(x, err)
}

// exportedCalls checks the text and the Client, and returns the calls for the hold.
func (c *Client) exportedCalls(ctx context.Context, text, what string) (*exported.Calls, error) {
	x, err := c.readExport(text, what)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	k, err := c.openKeys(x.Name)
	return &exported.Calls{Hold: x, Keys: k, Caller: c.engine.Calls, Patience: c.engine.Patience()}, err
}

func exportedHold(x exported.Hold, s *exported.State, err error) (*ExportedHold, error) {
	if err != nil {
		return nil, exportedError(x, err)
	}
	return &ExportedHold{
		Name: x.Name, Owner: s.Owner, Hash: keyspace.HashID(x.ID), Token: x.Token,
		TTL: s.TTL, Remaining: s.Remaining, Waiting: s.Waiting,
	}, nil
}

// exportedError turns an error of package exported into the public one.
func exportedError(x exported.Hold, err error) error {
	switch e := err.(type) { //nolint:errorlint // never wrapped
	case *exported.Ended:
		return &LostError{Name: x.Name, Token: x.Token, Cause: Cause(e.Cause), Reason: e.Reason}
	case *exported.Late:
		return &TooSlowError{Name: x.Name, TTL: e.TTL, RoundTrip: e.RoundTrip}
	case *exported.Unconfirmed:
		return &ReplicasError{Name: x.Name, Want: e.Want, Got: e.Got, Connected: -1}
	}
	return err
}
