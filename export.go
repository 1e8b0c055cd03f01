package holdfast

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/exported"
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
	lacks := l.client.lacks(l.Name(), "Export")
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
	given, err := l.client.engine.Export(u)
	if err != nil {
		return "", publicError(err)
	}
	l.released = true // and result is nil
	x := exported.Hold{
		Prefix: l.client.Prefix(), Name: l.Name(), ID: u.Tenure.ID, Token: u.Token,
		Last: given.Last, Leads: given.Leads, Value: given.Value,
	}
	return x.Text(), nil
}

// ErrExport means that a text is not the complete result of a [Lease.Export].
var ErrExport = exported.ErrText

// readExport checks a text, and that this Client can do what is asked with it.
func (c *Client) readExport(text, what string) (exported.Hold, error) {
	x, err := exported.Parse(text)
	switch {
	case err != nil:
		return x, wire.Failure(strings.ToLower(what), nil, err)
	case x.Prefix != c.Prefix():
		return x, wire.Failure(x.Name, nil, fmt.Errorf("%w for this Client: it was exported under the prefix %q, this Client has %q", ErrExport, x.Prefix, c.Prefix()))
	}
	return x, nil
}
