package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A lock of a shared kind has a capacity, and each holder takes a part of it, its
// weight. Each acquisition is a local name of its own, with one waiter and one tenure
// of one turn, so what waits, is renewed, lost or given up is the mutex's machinery;
// only the scripts are others. There are no turns, no recall and no Linger. See
// docs/protocol.md.

// shared is what an acquisition of a shared kind asks for.
type shared struct {
	letter      byte
	weight      int64
	capacity    int64
	keys        []string      // lock, fence, queue, holders, and of a semaphore the size key
	tail        string        // of its id
	renewalID   string        // the id that renewed is for
	renewalKeys []string      // the keys of its renewals
	maxHold     time.Duration // MaxHold
	grace       time.Duration // Grace
	shrunk      shrunk
}

// wholeCapacity is the capacity of an RWMutex, and the weight of a writer; of a
// reader it is 1.
const wholeCapacity = protocol.MaxSize

// size is that of a semaphore; else 0.
func (s *shared) size() int {
	if s.letter == keyspace.Permits {
		return int(s.capacity)
	}
	return 0
}

// errNotShared is what only a lease of a Mutex can.
func errNotShared(name, what string) error {
	return wire.Failure(name, nil, errors.New(what+" works for a Mutex, not for a Semaphore or an RWMutex"))
}

// acquire asks for a part of a name's capacity. It blocks and fails as
// Mutex.Lock does.
func (s shared) acquire(ctx context.Context, client *Client, name string, try bool) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.maxHold < 0 {
		panic(fmt.Sprintf("holdfast: MaxHold of %s is %v: it must not be negative", name, s.maxHold))
	}
	c := client.core
	checkGrace(name, s.grace, c.options.TTL)
	if held := c.heldUnder(ctx, name); held != nil && held.err() == nil && !try { // a try waits for nobody
		return nil, ErrDeadlock
	}
	w := c.newWaiter(try)
	w.maxHold, w.grace = s.maxHold, s.grace
	defer w.recycle(c)
	if err := c.enterShared(name, &s, w, ctx.Done() == nil); err != nil {
		return nil, err
	}
	return w.await(ctx, client)
}

// enterShared makes a local name for one waiter and starts it.
func (c *core) enterShared(name string, s *shared, w *waiter, blocking bool) error {
	k, err := keysOf(c.options.Prefix, name)
	if err != nil {
		return err
	}
	s.keys = k.WithHolders()
	if s.letter == keyspace.Permits {
		s.keys = k.WithSize()
	}
	s.tail = c.tailOf(s)
	c.mu.Lock()
	if c.closed {
		c.unlock()
		return ErrClosed
	}
	now := c.clock.Now()
	c.lastShared++
	n := c.newName(name+"\x00shared"+strconv.FormatInt(c.lastShared, 36), name, k, s) // no name has a control character
	n.admit(w, now)
	n.step(now)
	c.unlockAndPerform(blocking, n.asking, now)
	return nil
}

// tailOf is what an id of a shared kind ends with.
func (c *core) tailOf(s *shared) string {
	return keyspace.SharedTail(c.options.TTL, s.letter, s.weight, c.options.Owner)
}

// callFor is a run of a script on a name: of the one that does this for its kind.
func (n *localName) callFor(s *driver.Script, args []string) driver.Call {
	if n.shared == nil {
		return driver.Call{Script: s, Keys: n.keysFor(s, args), Args: args}
	}
	switch s {
	case script.Lock:
		return driver.Call{Script: script.SharedLock, Keys: n.shared.keys, Args: args}
	case script.Unlock, script.Cancel:
		s = script.SharedUnlock
	case script.Held:
		return driver.Call{Script: script.SharedHeld, Keys: []string{n.shared.keys[3], n.keys.Lock(), n.keys.RevocationOf(args[0])}, Args: args}
	case script.Renew:
		return driver.Call{Script: script.SharedRenew, Keys: n.shared.renewKeys(n.keys, args[0]), Args: args}
	}
	return driver.Call{Script: s, Keys: n.shared.keys[:4], Args: args}
}

// renewKeys are the keys of a renewal, which comes often.
func (s *shared) renewKeys(k *keyspace.Keys, id string) []string {
	if s.renewalID != id {
		s.renewalID, s.renewalKeys = id, slices.Concat(s.keys[:4], []string{k.RevocationOf(id)})
	}
	return s.renewalKeys
}

// renews reports whether a script prolongs a tenure.
func renews(s *driver.Script) bool { return s == script.Renew || s == script.SharedRenew }

// sharedSubs are the subscriptions of the shared kinds in a Cluster, by the suffix of
// their channel. The acquisitions of one name share one, which ends with the
// last of them. Guarded by the core's mutex.
type sharedSubs map[string]*subscriber

func (all *sharedSubs) of(c *core, suffix string) *subscriber {
	if *all == nil {
		*all = sharedSubs{}
	}
	s := (*all)[suffix]
	if s == nil {
		s = newSubscriber(c, keyspace.PushChannel(c.client, suffix))
		(*all)[suffix] = s
	}
	return s
}

// remove removes a local name that ends from those that share its subscription.
func (all sharedSubs) remove(n *localName) {
	if n.shard == "" {
		return
	}
	n.sub.remove(n)
	if n.shared != nil && n.sub.first == nil {
		delete(all, n.shard)
	}
}
