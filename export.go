package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
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
// for leases that cannot be exported. These are leases of a quorum, a [Semaphore] or an
// [RWMutex], with [Mutex.NoRenew], in their MinHold, or shared by [Mutex.Reentrant].
// After Export, Release does nothing and returns nil. Observers of an [Election] see
// the old value until the adopter leads.
func (l *Lease) Export() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.turn
	c := l.client.core
	lacks := c.servers.lacks(l.Name(), "Export")
	switch {
	case lacks != nil:
		return "", lacks
	case u.Local.Kind.Shared():
		return "", machine.MutexOnly(l.Name(), "Export")
	case u.Local.Kind.NoRenew:
		return "", wire.Failure(l.Name(), nil, errors.New("Export does not work for a lease with Mutex.NoRenew: the adopter would renew it"))
	case l.released:
		return "", l.Err()
	}
	c.mu.Lock()
	err := u.CheckUnshared()
	c.mu.Unlock()
	if err != nil {
		return "", err
	}
	given, err := c.giveAway(u)
	if err != nil {
		return "", err
	}
	l.released = true // and result is nil
	x := exported.Hold{
		Prefix: c.options.Prefix, Name: l.Name(), ID: u.Tenure.ID, Token: u.Token,
		Last: given.Last, Leads: given.Leads, Value: given.Value,
	}
	return x.Text(), nil
}

// giveAway asks Redis once, and then exports; again where a renewal that reserves tokens
// has set out meanwhile: what it reserves is unknown before its answer.
func (c *core) giveAway(u *machine.Turn) (given machine.ExportedState, err error) {
	for range 4 {
		if err := c.ensure(context.Background(), u, 1); err != nil { // a token tells of all that ran before it
			return given, err
		}
		if given, err = c.export(u); err != machine.ErrReserving { //nolint:errorlint // made here, never wrapped
			return given, err
		}
		c.awaitReservations(u)
	}
	return given, wire.Failure(u.Local.Name, ErrUnreachable, err)
}

// awaitReservations waits until no renewal that reserves tokens is under way, for as long as one may
// take.
func (c *core) awaitReservations(u *machine.Turn) {
	for late := time.Now().Add(machine.LongestRenewal); time.Now().Before(late); {
		c.mu.Lock()
		settled := u.Settled()
		c.mu.Unlock()
		if settled {
			return // Export asks again
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-c.stopped:
		}
	}
}

// export ends a turn and forgets its tenure: nobody here may end that any more.
func (c *core) export(u *machine.Turn) (given machine.ExportedState, err error) {
	c.mu.Lock()
	defer c.unlock()
	given, err = c.process.Export(u, c.clock.Exact())
	if err == nil {
		c.details.Exported(u.Tenure.ID)
		c.writeDetails()
	}
	return given, publicError(err)
}

// ErrExport means that a text is not the complete result of a [Lease.Export].
var ErrExport = exported.ErrText

// readExport checks a text, and that this Client can do what is asked with it.
func (c *core) readExport(text, what string) (x exported.Hold, k *keyspace.Keys, err error) {
	x, err = exported.Parse(text)
	switch {
	case err != nil:
		return x, nil, wire.Failure(strings.ToLower(what), nil, err)
	case x.Prefix != c.options.Prefix:
		return x, nil, wire.Failure(x.Name, nil, fmt.Errorf("%w for this Client: it was exported under the prefix %q, this Client has %q", ErrExport, x.Prefix, c.options.Prefix))
	}
	k, err = keysOf(x.Prefix, x.Name)
	return x, k, err
}
