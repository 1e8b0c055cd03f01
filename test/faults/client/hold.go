//go:build linux

package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

// lease is what Lease and MultiLease have in common.
type lease interface {
	Err() error
	Done() <-chan struct{}
	Remaining() time.Duration
	Release() error
}

// wish is one attempt at a target: what is asked for, by name.
type wish struct {
	target *Target
	try    bool
	events []history.Event // one for each name, with what all events of it say
}

// wish draws what to ask for.
func (c *caller) wish(target *Target) *wish {
	w := &wish{target: target, try: c.random.Float64() < c.mix.Try && target.Kind != history.Election}
	e := history.Event{Client: int64(c.client), Kind: target.Kind, Mode: history.Exclusive, Weight: 1, Capacity: 1}
	switch target.Kind {
	case history.Semaphore:
		e.Mode, e.Capacity = history.Shared, target.Capacity
		e.Weight = 1 + c.random.Int64N(target.Capacity)
		if c.random.IntN(2) == 0 {
			e.Weight = 1
		}
	case history.RWMutex:
		e.Capacity, e.Weight = wholeOfRW, wholeOfRW
		if c.random.IntN(3) > 0 && !target.Writes {
			e.Mode, e.Weight = history.Shared, 1
		}
	}
	for _, name := range target.Names {
		c.attempts++
		e.Name, e.Attempt = name, c.first+c.attempts*int64(c.Callers+len(c.Hoard))
		w.events = append(w.events, e)
	}
	return w
}

// wholeOfRW is the weight of a writer: no so many readers fit beside it.
const wholeOfRW = 1 << 30

// lock asks for it. tokens are by name, in the order of the target's.
func (w *wish) lock(ctx context.Context, client locker, value string) (lease, []int64, error) {
	name := w.target.Names[0]
	e := &w.events[0]
	switch w.target.Kind {
	case history.Multi:
		m := client.Multi(w.target.Names...)
		lock := m.Lock
		if w.try {
			lock = m.TryLock
		}
		l, err := lock(ctx)
		if err != nil {
			return nil, nil, err
		}
		var tokens []int64
		for _, name := range w.target.Names {
			tokens = append(tokens, l.Token(name))
		}
		return l, tokens, nil
	case history.Election:
		return one(client.Election(name).Campaign(ctx, value))
	case history.Semaphore:
		s := client.(*holdfast.Client).Semaphore(name, int(e.Capacity))
		if w.try {
			return one(s.TryAcquire(ctx, int(e.Weight)))
		}
		return one(s.Acquire(ctx, int(e.Weight)))
	case history.RWMutex:
		return one(w.lockRW(ctx, client.(*holdfast.Client).RWMutex(name)))
	}
	if w.try {
		return one(client.Mutex(name).TryLock(ctx))
	}
	return one(client.Mutex(name).Lock(ctx))
}

func (w *wish) lockRW(ctx context.Context, m *holdfast.RWMutex) (*holdfast.Lease, error) {
	reads := w.events[0].Mode == history.Shared
	switch {
	case reads && w.try:
		return m.TryRLock(ctx)
	case reads:
		return m.RLock(ctx)
	case w.try:
		return m.TryLock(ctx)
	}
	return m.Lock(ctx)
}

func one(l *holdfast.Lease, err error) (lease, []int64, error) {
	if err != nil {
		return nil, nil, err // not a nil lease in an interface
	}
	return l, []int64{l.Token()}, nil
}

// deadline is the lease's, by the clock of the history; the true one is not
// before it. Of a lease that is over it is 0.
func deadline(l lease) int64 {
	now := history.Now()
	left := l.Remaining()
	if left <= 0 {
		return 0
	}
	return now + int64(left)
}

// upTo draws a length of time.
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d) + 1))
}
