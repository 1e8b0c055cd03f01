package holdfast

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Downgrade makes a writer's lease of an [RWMutex] a reader's lease, with no other
// writer in between. Stop writing before you call it. The lease keeps its token and its
// contexts. Readers that queue before the next writer get the lock at once. A reader's
// lease does not change.
//
// Downgrade takes no context, like [Lease.Release]. It blocks for two seconds at most
// and then retries in the background. After [ErrUnknown] the lease counts as a reader's
// lease, but Redis has not confirmed it yet; each renewal and each further call asks
// again. Other errors: [ErrLost] with its cause, [ErrReleased], and an error for a
// lease that is not of an RWMutex.
func (l *Lease) Downgrade() error {
	return l.shrink("Downgrade", keyspace.Reader, 1)
}

// Keep releases all but n permits of a lease of a [Semaphore]. Waiters get the permits
// at once. The lease keeps its token and its contexts. A lease with n permits or fewer
// does not change.
//
// Keep blocks and fails like [Lease.Downgrade]. An n below 1 returns [ErrSize]: use
// Release to give all permits back. A lease that is not of a Semaphore returns an
// error.
func (l *Lease) Keep(n int) error {
	if n < 1 {
		return fmt.Errorf("%w: a lease of %s can't keep %d", ErrSize, l.Name(), n)
	}
	return l.shrink("Keep", keyspace.Permits, int64(n))
}

// shrink reduces the weight of the lease.
func (l *Lease) shrink(what string, letter byte, weight int64) error {
	err := l.client.engine.Shrink(l.turn, letter, weight)
	if k, ok := err.(*engine.OtherKind); ok { //nolint:errorlint // never wrapped
		err = wire.Failure(l.Name(), nil, fmt.Errorf("%s works for %s, not for %s", what, described(kindOf(letter), 0), described(kindOf(k.Letter), 0)))
	}
	return publicError(err)
}
