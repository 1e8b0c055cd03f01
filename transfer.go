package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Export gives the hold away and returns a text with which another process continues
// it: see [Client.Adopt]. The name is not free in between. This lease ends with cause
// [Exported], and so do its contexts, so stop the work under it first.
//
// At most one process can adopt the hold, within the ttl of this Client after Export.
// After that the next waiter gets the name. To end the hold earlier, call
// [Client.ReleaseExported] with the text; Close and Release do not end it.
//
// The text is one line of printable ASCII without spaces. THE TEXT IS A CAPABILITY:
// with it any process can take the lock. Pass it by a pipe or the environment, not
// through logs.
//
// An error leaves the lease as it was. Errors: those of [Lease.EnsureHeld], and errors
// for leases that cannot be exported. These are leases of a quorum, with
// [Mutex.NoRenew], in their MinHold, or shared by [Mutex.Reentrant]. A lease of a
// [Semaphore] or an [RWMutex] can be exported, but not adopted: its text is for
// [Client.RenewExported] and its like.
// After Export, Release does nothing and returns nil. Observers of an [Election] see
// the old value until the adopter leads.
func (l *Lease) Export() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.turn
	lacks := l.client.lacks(l.Name(), "Export")
	switch {
	case lacks != nil:
		return "", lacks
	case u.Name.Kind.NoRenew:
		return "", wire.Failure(l.Name(), nil, errors.New("Export does not work for a lease with Mutex.NoRenew: the adopter would renew it"))
	case l.released.Load():
		return "", l.Err()
	}
	given, err := l.client.engine.Export(u)
	if err != nil {
		return "", publicError(err)
	}
	l.released.Store(true) // and l.result is nil
	x := exported.Hold{
		Prefix: l.client.Prefix(), Name: l.Name(), ID: u.Tenure.ID, Token: u.Token,
		Last: given.Last, Leads: given.Leads, Value: given.Value,
	}
	return x.Text(), nil
}

// ErrExport means that a text is not the complete result of a [Lease.Export].
var ErrExport = exported.ErrText

// readExport parses a text and checks that it was exported under the prefix of this
// Client.
func (c *Client) readExport(text, what string) (exported.Hold, error) {
	x, err := exported.Parse(text)
	switch {
	case err != nil:
		return x, wire.Failure(what, nil, err)
	case x.Prefix != c.Prefix():
		return x, wire.Failure(x.Name, nil, fmt.Errorf("%w for this Client: it was exported under the prefix %q, this Client has %q", ErrExport, x.Prefix, c.Prefix()))
	}
	return x, nil
}

// Adopt continues a hold that another process gave away with [Lease.Export], and
// returns its lease. The lease has the ttl and owner of this Client and a higher token
// than before. At most one call can adopt a text. The others, and calls after the ttl
// of the exporter, get [ErrLost].
//
// If the hold is the term of an [Election], Adopt begins a new term with the newest
// value of the exporter. No other candidate can lead in between, and waiting candidates
// keep their places.
//
// Adopt blocks until Redis has answered or ctx has ended. If it fails after Redis was
// asked, an adopted hold is released; otherwise the hold can still be adopted.
//
// Errors: [ErrLost] with its cause, [ErrExport] if the text is damaged,
// [ErrUnreachable], [ErrTooSlow], [ErrReplicas], [ErrClosed], a [driver.ServerError], or the
// error of ctx. A text that was exported under another [Options.Prefix], or of a
// [Semaphore] or an [RWMutex], is an error.
func (c *Client) Adopt(ctx context.Context, text string) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x, err := c.readExport(text, "adopt")
	switch {
	case err != nil:
		return nil, err
	case x.Shared():
		return nil, machine.MutexOnly(x.Name, "Adopt")
	}
	m := c.Mutex(x.Name)
	k := m.ownKind()
	if x.Leads {
		k = c.engine.CandidateKind(x.Value)
	}
	k.First = &machine.FirstLock{Script: script.Adopt, Args: []string{x.ID, wire.Itoa(x.Last)}}
	lease, err := m.lock(ctx, k, false)
	if err == nil && x.Leads {
		c.engine.Announce(ctx, lease.turn)
	}
	return lease, err
}

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
	defer runtime.KeepAlive(c) // else the garbage collector may close it during the call
	calls, err := c.exportedCalls(ctx, text, "renewexported")
	if err != nil {
		return nil, err
	}
	state, err := calls.Renew(ctx, c.engine.WaitReplicas)
	return exportedHold(calls.Hold, state, err)
}

// CheckExported reports the state of a hold that [Lease.Export] gave away, and changes
// nothing. Its errors are those of [Client.RenewExported] except [ErrReplicas].
func (c *Client) CheckExported(ctx context.Context, text string) (*ExportedHold, error) {
	defer runtime.KeepAlive(c) // else the garbage collector may close it during the call
	calls, err := c.exportedCalls(ctx, text, "checkexported")
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
	calls, err := c.exportedCalls(ctx, text, "releaseexported")
	if err != nil {
		return err
	}
	x := calls.Hold
	at := time.Now()
	released, err := calls.Release(ctx)
	if c.events != nil && (released || err == nil) {
		id, _ := keyspace.ParseID(x.ID)
		c.events.add(ExportReleased{Name: x.Name, Owner: id.Owner, Token: x.Token, Kind: kindOf(id.Letter), At: at})
	}
	if released && x.Leads { // observers that miss this notice the change when they poll
		announcement := election.Announcement(calls.Keys, x.ID, x.Token, c.engine.Sharded, 0, "")
		_, _ = c.engine.Calls.Run(ctx, c.engine.Attempt(), announcement)
	}
	return publicError(err)
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
		return nil, publicError(err)
	}
	return &ExportedHold{
		Name: x.Name, Owner: s.Owner, Hash: keyspace.HashID(x.ID), Token: x.Token,
		TTL: s.TTL, Remaining: s.Remaining, Waiting: s.Waiting,
	}, nil
}
