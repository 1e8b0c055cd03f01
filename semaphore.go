package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrSize tells that the number of permits asked for is less than 1 or more than
// the semaphore has.
var ErrSize = errors.New("holdfast: the semaphore has not so many permits")

// MaxSize is the largest size of a Semaphore.
const MaxSize = 1 << 30

// Semaphore lets callers of any processes hold permits of a name, together never
// more than its size. Who asks for many is not overtaken by who asks for few:
// the order is that of arrival. Each acquisition is a lease of its own, with its
// own token and its own expiry, so the permits of a process that dies come back
// one TTL after it was last heard of.
//
// The size belongs to the name, and Redis keeps it for 30 days from each use. The
// first use sets it, and only Resize changes it. A program that states another size is
// served by the stored one. Its Client says so once for each size, by the event
// SizeMismatch and a warning in the log.
//
// Tokens are unique and rise with each lease, but several are held at a time: a
// resource that refuses every token below the highest it has seen refuses
// holders that are well.
//
// An acquisition costs a round trip, its release another, and waiting about ten
// commands per second for all who wait. How many hold makes no difference to
// Redis, but for those who hold more than one permit: it adds them up, which took
// it 1 ms for a thousand on a busy machine (go test -run TestSharedGrowth -v
// ./internal/lab), so there should not be more than two thousand of them at a
// time. Linger does not count here, and a Client of a quorum has no Semaphore.
// Make it with Client.Semaphore.
type Semaphore struct {
	// MaxHold ends a lease when it has lasted this long, as Mutex.MaxHold does. Set it
	// before the first use; negative values panic.
	MaxHold time.Duration

	// Grace is how long the permits stay held after MaxHold without a Release, as
	// Mutex.Grace.
	Grace time.Duration

	client *Client
	name   string
	size   atomic.Int64
}

// Semaphore makes the semaphore of a name. size is how many permits it has in all if
// the name has no size yet, from 1 to MaxSize; else it panics. A name that can't be a key is told by Acquire.
func (c *Client) Semaphore(name string, size int) *Semaphore {
	checkSize(size)
	s := &Semaphore{client: c, name: name}
	s.size.Store(int64(size))
	return s
}

func checkSize(size int) {
	if size < 1 || size > MaxSize {
		panic(fmt.Sprintf("holdfast: the size of a Semaphore is %d: it must be from 1 to %d", size, MaxSize))
	}
}

// Name is the name whose permits these are.
func (s *Semaphore) Name() string { return s.name }

// Size is the size that this Semaphore states: that of Client.Semaphore, or of the
// newest Resize by it. The name may have another one; State.Size says which.
func (s *Semaphore) Size() int { return int(s.size.Load()) }

// Acquire waits until n permits are ours, first come first served, and returns
// the lease that has them: they are given back together, or some before the others
// by Lease.Keep. ctx bounds the wait
// only; when it ends Acquire returns its error as Mutex.Lock does, after 20 ms at most.
// More permits than the name has are ErrSize, also when Resize made it smaller
// during the wait. Other errors: ErrKind where others use the name otherwise;
// ErrDeadlock under the context of a lease of the same name; and those of Mutex.Lock.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, false)
}

// TryAcquire is Acquire without waiting: where the permits are not free, or
// others wait for theirs, it is a *HeldError, which names the holder whose time
// ends first. It waits for nobody, so it is never ErrDeadlock: under a lease of the
// same name it takes more permits, or is a *HeldError. ctx bounds the one round trip.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, true)
}

func (s *Semaphore) acquire(ctx context.Context, n int, try bool) (*Lease, error) {
	size := s.size.Load()
	if n < 1 || n > MaxSize {
		return nil, tooMany(s.name, int64(n), size)
	}
	return shared{letter: permits, weight: int64(n), capacity: size, most: s.MaxHold, grace: s.Grace}.acquire(ctx, s.client, s.name, try)
}

// Permits is a Locker whose Lock is Acquire of n permits, for Do.
func (s *Semaphore) Permits(n int) Locker { return several{s, n} }

type several struct {
	s *Semaphore
	n int
}

func (p several) Lock(ctx context.Context) (*Lease, error) { return p.s.Acquire(ctx, p.n) }

// Resize sets the size of the name, whether anybody holds permits or not, and the
// size that this Semaphore states. When it returns nil, those who fit in a larger
// size hold. A smaller one takes nothing away: until enough is given back nobody
// gets any. A caller that waits for more permits than there are now gets ErrSize.
// size must be from 1 to MaxSize, else Resize panics.
//
// Errors: ErrKind; ErrClosed; ErrUnreachable, after which it may have been done or not:
// it can be called again.
func (s *Semaphore) Resize(ctx context.Context, size int) error {
	checkSize(size)
	c := s.client.core
	if c.quorum != nil {
		return notOnQuorum(s.name, "Semaphore.Resize")
	}
	k, err := c.openKeys(s.name)
	if err != nil {
		return err
	}
	for {
		reply, err := c.evalBounded(ctx, Call{scriptSharedResize, k.withSize(), []string{itoa(int64(size)), c.shardOf(k)}})
		if err != nil {
			return unanswered(s.name, k.lock(), err)
		}
		a, err := decodeAnswer(reply)
		switch {
		case err != nil:
			return &storeError{s.name, nil, err}
		case a.word == "other kind":
			e := &KindError{Name: s.name, Kind: KindSemaphore, Size: size}
			e.usedAs(a)
			return e
		case a.word == "resized":
			s.size.Store(int64(size))
			return nil
		case a.word != "again":
			return &storeError{s.name, nil, fmt.Errorf("resize was answered %q", a.word)}
		}
	}
}

func tooMany(name string, n, size int64) error {
	return fmt.Errorf("%w: asked for %d of %s, which has %d", ErrSize, n, name, size)
}

// tooMany: the caller asks for more permits than there are.
func (l *line) tooMany(a answer) {
	l.standsNowhere()
	l.reject(tooMany(l.name, l.shared.weight, a.capacity))
}

// maxSizes bounds for how many names a Client remembers which size it has told.
const maxSizes = 1024

// sized tells, once for each size of a name, that another one counts than was stated.
func (l *line) sized(a answer) {
	c := l.c
	if l.shared == nil || a.capacity == 0 || l.shared.letter != permits || a.capacity == l.shared.capacity || c.sizes[l.name] == a.capacity ||
		a.word != "granted" && a.word != "queued" && a.word != "held" {
		return
	}
	if c.sizes == nil || len(c.sizes) >= maxSizes {
		c.sizes = map[string]int64{}
	}
	c.sizes[l.name] = a.capacity
	c.warn("holdfast: the semaphore has another size than this program states; Resize, or the command 'holdfast resize', changes it for all", "name", l.name, "stated", l.shared.capacity, "size", a.capacity)
	c.emit(SizeMismatch{Name: l.name, Asked: int(l.shared.capacity), Actual: int(a.capacity)})
}
