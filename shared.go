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
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A lock of a shared kind has a capacity, and each holder takes a part of it, its
// weight. Each acquisition is a line of its own, with one caller and one tenure of
// one turn, so what waits, is renewed, lost or given up is the mutex's machinery;
// only the scripts are others. There are no turns, no recall and no Linger. See
// docs/protocol.md.

// shared is what a line of a shared kind asks for.
type shared struct {
	letter   byte
	weight   int64
	capacity int64
	keys     []string      // L F Q H, and of a semaphore the size key
	tail     string        // of its id
	renews   string        // the id that renewed is for
	renewed  []string      // the keys of its renewals
	most     time.Duration // MaxHold
	grace    time.Duration // Grace
	smaller  smaller
}

// wholeCapacity is the capacity of an RWMutex, and the weight of a writer; of a
// reader it is 1.
const wholeCapacity = 1 << 30

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
	if s.most < 0 {
		panic(fmt.Sprintf("holdfast: MaxHold of %s is %v: it must not be negative", name, s.most))
	}
	c := client.core
	checkGrace(name, s.grace, c.options.TTL)
	if held := c.heldUnder(ctx, name); held != nil && held.err() == nil && !try { // a try waits for nobody
		return nil, ErrDeadlock
	}
	w := c.newCaller(try)
	w.most, w.grace = s.most, s.grace
	defer w.free(c)
	if err := c.enterShared(name, &s, w, ctx.Done() == nil); err != nil {
		return nil, err
	}
	return w.await(ctx, client)
}

// enterShared makes a line for one caller and sets it going.
func (c *core) enterShared(name string, s *shared, w *caller, patient bool) error {
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
	c.shared++
	l := c.newLine(name+"\x00shared"+strconv.FormatInt(c.shared, 36), name, k, s) // no name has a control character
	l.admit(w, now)
	l.step(now)
	c.unlockAndPerform(patient, l.asking, now)
	return nil
}

// tailOf is what an id of a shared kind ends with.
func (c *core) tailOf(s *shared) string {
	return keyspace.SharedTail(c.options.TTL, s.letter, s.weight, c.options.Owner)
}

// call is a run of a script on a name: of the one that does this for its kind.
func (l *line) call(s *driver.Script, args []string) driver.Call {
	if l.shared == nil {
		return driver.Call{Script: s, Keys: l.keysFor(s, args), Args: args}
	}
	switch s {
	case script.Lock:
		return driver.Call{Script: script.SharedLock, Keys: l.shared.keys, Args: args}
	case script.Unlock, script.Cancel:
		s = script.SharedUnlock
	case script.Held:
		return driver.Call{Script: script.SharedHeld, Keys: []string{l.shared.keys[3], l.keys.Lock(), l.keys.RevocationOf(args[0])}, Args: args}
	case script.Renew:
		return driver.Call{Script: script.SharedRenew, Keys: l.shared.toRenew(l.keys, args[0]), Args: args}
	}
	return driver.Call{Script: s, Keys: l.shared.keys[:4], Args: args}
}

// toRenew are the keys of a renewal, which comes often.
func (s *shared) toRenew(k *keyspace.Keys, id string) []string {
	if s.renews != id {
		s.renews, s.renewed = id, slices.Concat(s.keys[:4], []string{k.RevocationOf(id)})
	}
	return s.renewed
}

// renews tells the scripts that prolong a tenure.
func renews(s *driver.Script) bool { return s == script.Renew || s == script.SharedRenew }

// wakes are the subscriptions of the shared kinds in a Cluster, by the suffix of
// their channel. The lines of one name share one, which ends with the last of
// them. Guarded by the core's mutex.
type wakes map[string]*wake

func (w *wakes) of(c *core, suffix string) *wake {
	if *w == nil {
		*w = wakes{}
	}
	s := (*w)[suffix]
	if s == nil {
		s = newWake(c, keyspace.PushChannel(c.client, suffix))
		(*w)[suffix] = s
	}
	return s
}

// leave takes a line that ends out of those that share its subscription.
func (w wakes) leave(l *line) {
	if l.shard == "" {
		return
	}
	l.wake.part(l)
	if l.shared != nil && l.wake.first == nil {
		delete(w, l.shard)
	}
}
