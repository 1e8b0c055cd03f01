package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

const multiLock, crowd = "multi_lock", "lock_batch"

// each are the calls that a call is to the watch: a lock of several names is one
// of each, a crowd a lock or an unlock of each.
func each(call driver.Call) (calls []driver.Call) {
	switch call.Script.Name {
	case multiLock:
	case crowd:
		n := len(call.Keys) / 3
		for i, one := range inCrowd(call.Args) {
			one.Keys = []string{call.Keys[2*i], call.Keys[2*i+1], call.Keys[2*n+i]}
			calls = append(calls, one)
		}
		return calls
	default:
		return []driver.Call{call}
	}
	for keys := range slices.Chunk(call.Keys, 3) {
		calls = append(calls, driver.Call{Script: call.Script, Keys: keys, Args: call.Args[len(calls):]})
	}
	return calls
}

// inCrowd are the locks and unlocks that a crowd with such arguments does, without keys.
func inCrowd(args []string) (calls []driver.Call) {
	for one := range slices.Chunk(args[1:], 2) {
		c := driver.Call{Script: script.Lock, Args: []string{one[0], args[0]}}
		if one[1] == "" {
			c = driver.Call{Script: script.Unlock, Args: one[:1]}
		}
		calls = append(calls, c)
	}
	return calls
}

// answerTo is what the answer says to one of these calls.
func answerTo(calls []driver.Call, i int, reply []string) []string {
	if len(reply) != len(calls) {
		return reply
	}
	return reply[i : i+1]
}

// Belief is what a holder believes of one name.
type Belief interface {
	Token() int64
	Err() error
	Remaining() time.Duration
}

// ofSeveral is a lease of several names as that of one.
type ofSeveral struct {
	*holdfast.MultiLease
	name string
}

func (o ofSeveral) Token() int64 { return o.MultiLease.Token(o.name) }

// Several makes a story of three names in which callers also ask for all of them.
func (s *Story) Several() {
	s.several, s.names = true, []string{"n0", "n1", "n2"}
}

// onceSeveral asks for all names, in an order of its own.
func (c *caller) onceSeveral() {
	s := c.story
	names := s.mutexes()
	c.random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	multi := c.link.Client.Multi(names...)
	held := make([]*Held, len(names))
	for i, name := range names {
		held[i] = s.Watch.Called(c.link, name)
	}
	var lease *holdfast.MultiLease
	var err error
	ctx := context.Background()
	switch n := c.random.IntN(6); {
	case n <= 1:
		lease, err = multi.TryLock(ctx)
	case n == 2:
		limited, cancel := context.WithTimeout(ctx, c.some(50*time.Millisecond))
		lease, err = multi.Lock(limited)
		cancel()
	default:
		lease, err = multi.Lock(ctx)
	}
	c.did("Multi", err)
	if err != nil {
		for _, h := range held {
			s.Watch.Leaves(h)
		}
		c.refused(err)
		return
	}
	for i, h := range held {
		s.Watch.Granted(h, ofSeveral{lease, names[i]})
	}
	select {
	case <-time.After(c.some(20 * time.Millisecond)):
	case <-lease.Done():
	}
	for _, h := range held {
		s.Watch.Leaves(h)
	}
	if err := lease.Release(); err != nil && !errors.Is(err, holdfast.ErrLost) && !errors.Is(err, holdfast.ErrUnknown) {
		s.Watch.Broken("Release of several says %v", err)
	}
}
