package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Multi locks several names, all or none of them. It has no state of its own;
// make it with Client.Multi.
//
// Names that are free are locked by one script, all in one step: one round trip for
// up to 100 names, and one for each further 100. That is so on a standalone server,
// behind Sentinel and in the embedded store, and on a Cluster where the hash tags of
// all keys agree, such as by a prefix that is one. Of a hundred of which one has to be
// waited for or is in use in this process, and on a quorum, each is locked by itself.
// All go in the order of their bytes, whatever order they were given in. So callers that lock by Multi and nothing else never wait for each
// other in a circle, in whatever processes they are. A caller that locks more
// under the lease of a Multi can, unless that name comes later in the order.
type Multi struct {
	client *Client
	names  []string // sorted, each once
}

// Multi makes the lock of several names; a name given twice counts once. No names
// at all, and one that can't be a key, are told by Lock.
func (c *Client) Multi(names ...string) *Multi {
	names = slices.Clone(names)
	slices.Sort(names)
	return &Multi{client: c, names: slices.Compact(names)}
}

// Names are the names, in the order in which they are locked.
func (m *Multi) Names() []string { return slices.Clone(m.names) }

// Lock waits until all names are ours. If not all are free it stands in line for
// one after the other: while it waits for one it holds those before it, and keeps
// them, and others wait for these too. ctx bounds the whole wait;
// when it ends, Lock returns its error after 20 ms at most. It waits that long for Redis
// to confirm that nothing is left. The rest is given back in the background. If a name is
// lost while Lock waits for others, it waits for that name again, with all the others. Under
// the context of a lease of one of the names Lock returns ErrDeadlock and locks nothing. Other errors are those of Mutex.Lock.
func (m *Multi) Lock(ctx context.Context) (*MultiLease, error) {
	return m.acquire(ctx, false)
}

// TryLock is Lock without waiting for a holder: if one of the names is held, or
// wanted by callers before us, it is a *HeldError that says which, and none is
// held when it returns. Of two tries that meet on free names one succeeds. Where one
// script asks for all names, which are 100 at most then, none was ours for even a moment.
// Else the names before the held one, or those of the hundreds before it, are ours for a
// moment, in which others may find them held.
func (m *Multi) TryLock(ctx context.Context) (*MultiLease, error) {
	return m.acquire(ctx, true)
}

func (m *Multi) acquire(ctx context.Context, try bool) (*MultiLease, error) {
	if err := m.check(ctx, try); err != nil {
		return nil, err
	}
	for {
		lease, err := m.inOrder(ctx, try)
		if err == nil || !errors.Is(err, ErrLost) {
			return lease, err
		}
	}
}

// inOrder locks the names in their order: as many at once as one script takes, and one by
// one where those are not all to be had at once. ErrLost: one was lost before it had all.
func (m *Multi) inOrder(ctx context.Context, try bool) (*MultiLease, error) {
	all := &MultiLease{}
	under, done := ctx, func() {} // ends too when one of those that we have is lost
	defer func() { done() }()     // or the turns would keep the Client of a MultiLease that is dropped
	add := func(leases ...*Lease) {
		if len(all.leases) == 0 {
			under, done = context.WithCancel(ctx)
		}
		for _, lease := range leases {
			all.leases = append(all.leases, lease)
			under = lease.Context(under)
		}
	}
	for names := range slices.Chunk(m.names, mostBundled) {
		leases, err := m.atOnce(under, all, names, try)
		switch {
		case err == nil:
			add(leases...)
			continue
		case !errors.Is(err, errOneByOne) && (try || !errors.Is(err, ErrHeld)):
			return nil, all.giveUp(ctx, under, m.client.core, err)
		}
		for _, name := range names {
			mutex := m.client.Mutex(name)
			mutex.left = &all.left
			lease, err := mutex.acquire(under, try)
			if err != nil {
				return nil, all.giveUp(ctx, under, m.client.core, err)
			}
			add(lease)
		}
	}
	return all.whole()
}

// atOnce locks names by one script, if none is held. errOneByOne: that can't be.
func (m *Multi) atOnce(ctx context.Context, all *MultiLease, names []string, try bool) ([]*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, done := m.client.core, ctx.Done()
	callers, err := c.enterAll(names, try, done == nil)
	if err != nil {
		return nil, err
	}
	got := &MultiLease{}
	for _, w := range callers {
		var o outcome
		select {
		case o = <-w.ready:
		case <-done:
			turn, gone := c.abandon(w)
			o, all.left = outcome{turn: turn, err: ctx.Err()}, append(all.left, gone)
		}
		w.free(c)
		if o.turn != nil {
			got.leases = append(got.leases, &Lease{turn: o.turn, client: m.client})
		}
		if err == nil || errors.Is(err, errOneByOne) && o.err != nil {
			err = o.err
		}
	}
	if err != nil {
		all.giveBack(got, err)
		return nil, err
	}
	return got.leases, nil
}

// giveUp gives back what an attempt has got, and says why it goes no further: one of those
// was lost, or err, which is told as the caller's own where its ctx has ended.
func (l *MultiLease) giveUp(ctx, under context.Context, c *core, err error) error {
	lost := l.lost()
	l.giveBack(l, err)
	if under.Err() != nil {
		c.awaitGone(l.left...)
	}
	switch own := ctx.Err(); {
	case own == nil && lost != nil:
		return lost
	case own != nil && errors.Is(err, under.Err()): // both ended: the caller's is what it knows of
		return own
	}
	return err
}

// whole is the lease of all names, if none of them was lost meanwhile.
func (l *MultiLease) whole() (*MultiLease, error) {
	if lost := l.lost(); lost != nil {
		l.giveBack(l, lost)
		return nil, lost
	}
	l.over = l.Context(context.Background())
	return l, nil
}

// check says what is wrong before anything is locked.
func (m *Multi) check(ctx context.Context, try bool) error {
	if len(m.names) == 0 {
		return &NameError{"", "is missing: Multi was given none"}
	}
	c := m.client.core
	for _, name := range m.names {
		if _, err := keysOf(c.options.Prefix, name); err != nil {
			return err
		}
		if held := c.heldUnder(ctx, name); held != nil && held.err() == nil {
			if try {
				return held.held()
			}
			return fmt.Errorf("%w: %s", ErrDeadlock, shorten(name))
		}
	}
	return nil
}

// Do runs f while it holds all names; see the function Do.
func (m *Multi) Do(ctx context.Context, f func(ctx context.Context, lease *MultiLease) error) error {
	return under(ctx, m.Lock, f)
}

// MultiLease is one caller's hold of several names. It is over when the lease of
// any of them is: what is left is kept until Release.
type MultiLease struct {
	leases []*Lease   // in the order of the names
	left   []*goodbye // of an attempt that goes no further
	over   context.Context

	mu       sync.Mutex // guards the rest, and makes a second Release wait for the first
	released bool
	result   error
}

// Leases are the leases of the names, in the order of Names. Who releases one of them ends
// the MultiLease, but not the others.
func (l *MultiLease) Leases() []*Lease { return slices.Clone(l.leases) }

// EnsureHeld asks Redis for each name, side by side, whether it is still held, and prolongs
// the leases by that; see Lease.EnsureHeld. The error joins those of the names: nil if all
// are held.
func (l *MultiLease) EnsureHeld(ctx context.Context) error {
	return l.each(func(lease *Lease) error { return lease.EnsureHeld(ctx) })
}

// Names are the names that were locked, in order.
func (l *MultiLease) Names() []string {
	names := make([]string, len(l.leases))
	for i, lease := range l.leases {
		names[i] = lease.Name()
	}
	return names
}

// Token is the fence token of one of the names; see Lease.Token. A name that was
// not locked is a mistake of the program: it panics.
func (l *MultiLease) Token(name string) int64 {
	for _, lease := range l.leases {
		if lease.Name() == name {
			return lease.Token()
		}
	}
	panic(fmt.Sprintf("holdfast: Token of %q, which is none of the names of this MultiLease", shorten(name)))
}

// Err is nil while all names are held. Afterwards it is the *LostError of the
// first name in order that was lost, or ErrReleased. See Lease.Err.
func (l *MultiLease) Err() error {
	if err := l.lost(); err != nil {
		return err
	}
	for _, lease := range l.leases {
		if err := lease.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (l *MultiLease) lost() error {
	for _, lease := range l.leases {
		if err := lease.Err(); errors.Is(err, ErrLost) {
			return err
		}
	}
	return nil
}

// Done is closed when the lease of any name is over.
func (l *MultiLease) Done() <-chan struct{} { return l.over.Done() }

// Remaining is the least of what remains of each name; see Lease.Remaining.
func (l *MultiLease) Remaining() time.Duration {
	least := time.Duration(1<<63 - 1)
	for _, lease := range l.leases {
		least = min(least, lease.Remaining())
	}
	return least
}

// Deadline is the earliest of all; see Lease.Deadline.
func (l *MultiLease) Deadline() time.Time { return time.Now().Add(l.Remaining()) }

// Context derives a context that ends when the lease of any name is over;
// context.Cause then tells which, and why. Locking one of the names under it is
// ErrDeadlock.
func (l *MultiLease) Context(parent context.Context) context.Context {
	for _, lease := range l.leases {
		parent = lease.Context(parent)
	}
	return parent
}

// Release gives all names back, side by side, so that it takes no longer than one
// Lease.Release. The error joins those of the names: nil if all were released.
// Calling it again changes nothing and returns the same. Release of a nil
// MultiLease is an error.
func (l *MultiLease) Release() error {
	if l == nil {
		return errNoLease
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released {
		l.released = true
		l.result = l.release()
	}
	return l.result
}

func (l *MultiLease) release() error { return l.each((*Lease).Release) }

// each does something with all leases, side by side, and joins the errors.
func (l *MultiLease) each(do func(*Lease) error) error {
	results := make([]error, len(l.leases))
	var running sync.WaitGroup
	for i, lease := range l.leases {
		running.Go(func() { results[i] = do(lease) })
	}
	running.Wait()
	return errors.Join(results...)
}

// giveBack gives back what an attempt got that goes no further, because of err: a try
// that found a name held waits for that, others only where their context has ended.
func (l *MultiLease) giveBack(got *MultiLease, err error) {
	switch {
	case errors.Is(err, ErrHeld):
		_ = got.release() // what is not answered is repeated in the background
	case len(got.leases) > 0:
		l.left = append(l.left, inBackground(got.release))
	}
}
