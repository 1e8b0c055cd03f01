package holdfast

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
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

// begins starts a local name of one waiter.
func (n *localName) begins(w *waiter, now clock.Instant) {
	n.admit(w, now)
	n.step(now)
}

// tailOf is what an id of a shared kind ends with.
func (p *process) tailOf(s *shared) string {
	return keyspace.SharedTail(p.ttl, s.letter, s.weight, p.owner)
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

func (all *sharedSubs) of(p *process, suffix string) *subscriber {
	if *all == nil {
		*all = sharedSubs{}
	}
	s := (*all)[suffix]
	if s == nil {
		s = &subscriber{p: p, channel: keyspace.PushChannel(p.client, suffix)}
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

// tooMany: the caller asks for more permits than there are.
func (n *localName) tooMany(a wire.Answer) {
	n.notInRedis()
	n.reject(tooMany(n.name, n.shared.weight, a.Capacity))
}

// noteSize tells, once for each size of a name, that another one counts than was stated.
func (n *localName) noteSize(a wire.Answer) {
	c := n.p
	if n.shared == nil || a.Capacity == 0 || n.shared.letter != keyspace.Permits || a.Capacity == n.shared.capacity || c.reportedSizes[n.name] == a.Capacity ||
		a.Word != "granted" && a.Word != "queued" && a.Word != "held" {
		return
	}
	if c.reportedSizes == nil || len(c.reportedSizes) >= maxSizes {
		c.reportedSizes = map[string]int64{}
	}
	c.reportedSizes[n.name] = a.Capacity
	c.host.warn("holdfast: the semaphore has another number of permits than this program asks for; the stored number counts; 'holdfast resize' or Semaphore.Resize changes it for all programs", "name", n.name, "asked", n.shared.capacity, "actual", a.Capacity)
	c.host.note(event{what: sizeMismatch, name: n.name, asked: int(n.shared.capacity), actual: int(a.Capacity)})
}

// kind is what the name is asked for as.
func (n *localName) kind() byte {
	if n.shared == nil {
		return 0
	}
	return n.shared.letter
}

// otherKind: the name is in use as something else. Nobody here can have it.
func (n *localName) otherKind(a wire.Answer) {
	n.notInRedis()
	e := &anotherKind{name: n.name, kind: n.kind(), answer: a}
	if n.shared != nil {
		e.size = n.shared.size()
	}
	n.reject(e)
}

// notInRedis: nothing of the tenure that was refused stands in Redis.
func (n *localName) notInRedis() {
	if n.tenure.phase == asked && n.tenure.openLocks == 0 {
		n.tenure.sentWait = false
	}
}
