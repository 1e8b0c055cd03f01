package holdfast

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// kind is how a call asks for a name. Most calls of Lock have the kind of their process, and
// share a local name, its tenure and its id. An id has one owner, one ttl and one weight, so
// each call that differs in these has a kind and a local name of its own, with one waiter.
type kind struct {
	owner   string        // label of its tenures
	ttl     time.Duration // how long the lock key lives after each grant and renewal
	noRenew bool          // only Extend prolongs a turn, see Mutex.NoRenew; instead of renewing the process asks
	lingers bool          // an idle tenure is kept for a while
	first   *firstLock    // asks in place of lock; nil: lock does
	term    *electionTerm // of an Election; nil: it is no term
	tail    string        // what its ids end with

	// A lock of a shared kind has a capacity, and each holder takes a part of it, its weight.
	// Its tenure has one turn, and is not recalled.
	letter      byte // of its ids, see keyspace; 0: a Mutex
	weight      int64
	capacity    int64
	keys        []string // lock, fence, queue, holders, and of a semaphore the size key
	renewalID   string   // the id that renewalKeys is for
	renewalKeys []string // the keys of its renewals
	shrunk      shrunk
}

// firstLock is a lock by another script: to adopt a hold, to steal a name, or to begin a tick.
type firstLock struct {
	script *driver.Script
	args   []string // behind the id
	victim victim   // of a steal
}

// victim is a tenure that Mutex.Steal ends, and why.
type victim struct{ id, hash, reason string }

// electionTerm is what a tenure of an Election has proclaimed.
type electionTerm struct {
	nextAnnouncement clock.Timer // of the same term
	proclaims        int64       // counts what it has proclaimed
	proclaimed       string      // the newest of these
}

// dedicatedKind is that of a call with an owner or a ttl of its own.
func (p *process) dedicatedKind(owner string, ttl time.Duration) *kind {
	return &kind{owner: owner, ttl: ttl, tail: keyspace.Tail(ttl, owner)}
}

// candidateKind is that of a candidate: its value stands in its ids.
func (p *process) candidateKind(value string) *kind {
	k := p.dedicatedKind(value, p.settings.ttl)
	k.term = &electionTerm{}
	return k
}

// sharedKind is that of a call for a part of a capacity.
func (p *process) sharedKind(letter byte, weight, capacity int64) *kind {
	return &kind{
		owner: p.settings.owner, ttl: p.settings.ttl, letter: letter, weight: weight, capacity: capacity,
		tail: keyspace.SharedTail(p.settings.ttl, letter, weight, p.settings.owner),
	}
}

// wholeCapacity is the capacity of an RWMutex, and the weight of a writer; of a
// reader it is 1.
const wholeCapacity = protocol.MaxSize

// shared reports whether it is a shared kind.
func (k *kind) shared() bool { return k.capacity > 0 }

// size is that of a semaphore; else 0.
func (k *kind) size() int {
	if k.letter == keyspace.Permits {
		return int(k.capacity)
	}
	return 0
}

// setKeys notes the keys of the scripts of a shared kind.
func (k *kind) setKeys(keys *keyspace.Keys) {
	switch k.letter {
	case 0:
	case keyspace.Permits:
		k.keys = keys.WithSize()
	default:
		k.keys = keys.WithHolders()
	}
}

// newest is the value that a term proclaimed last, or was campaigned with.
func (k *kind) newest() string {
	if k.term.proclaims > 0 {
		return k.term.proclaimed
	}
	return k.owner
}

// errNotShared is what only a lease of a Mutex can.
func errNotShared(name, what string) error {
	return wire.Failure(name, nil, errors.New(what+" works for a Mutex, not for a Semaphore or an RWMutex"))
}

// callFor is a run of a script on a name: of the one that does this for its kind.
func (n *localName) callFor(s *driver.Script, args []string) driver.Call {
	k := n.kind
	if !k.shared() {
		return driver.Call{Script: s, Keys: n.keysFor(s, args), Args: args}
	}
	switch s {
	case script.Lock:
		return driver.Call{Script: script.SharedLock, Keys: k.keys, Args: args}
	case script.Unlock, script.Cancel:
		s = script.SharedUnlock
	case script.Held:
		return driver.Call{Script: script.SharedHeld, Keys: []string{k.keys[3], n.keys.Lock(), n.keys.RevocationOf(args[0])}, Args: args}
	case script.Renew:
		return driver.Call{Script: script.SharedRenew, Keys: k.keysToRenew(n.keys, args[0]), Args: args}
	}
	return driver.Call{Script: s, Keys: k.keys[:4], Args: args}
}

// keysToRenew are the keys of a renewal, which comes often.
func (k *kind) keysToRenew(keys *keyspace.Keys, id string) []string {
	if k.renewalID != id {
		k.renewalID, k.renewalKeys = id, slices.Concat(k.keys[:4], []string{keys.RevocationOf(id)})
	}
	return k.renewalKeys
}

// renews reports whether a script prolongs a tenure.
func renews(s *driver.Script) bool { return s == script.Renew || s == script.SharedRenew }

// tooMany: the caller asks for more permits than there are.
func (n *localName) tooMany(a wire.Answer) {
	n.notInRedis()
	n.reject(tooMany(n.name, n.kind.weight, a.Capacity))
}

// noteSize tells, once for each size of a name, that another one counts than was stated.
func (n *localName) noteSize(a wire.Answer) {
	c, k := n.p, n.kind
	if a.Capacity == 0 || k.letter != keyspace.Permits || a.Capacity == k.capacity || c.reportedSizes[n.name] == a.Capacity ||
		a.Word != "granted" && a.Word != "queued" && a.Word != "held" {
		return
	}
	if c.reportedSizes == nil || len(c.reportedSizes) >= maxSizes {
		c.reportedSizes = map[string]int64{}
	}
	c.reportedSizes[n.name] = a.Capacity
	c.host.warn("holdfast: the semaphore has another number of permits than this program asks for; the stored number counts; 'holdfast resize' or Semaphore.Resize changes it for all programs", "name", n.name, "asked", k.capacity, "actual", a.Capacity)
	c.host.note(event{what: sizeMismatch, name: n.name, asked: int(k.capacity), actual: int(a.Capacity)})
}

// otherKind: the name is in use as something else. Nobody here can have it.
func (n *localName) otherKind(a wire.Answer) {
	n.notInRedis()
	n.reject(&anotherKind{name: n.name, kind: n.kind.letter, size: n.kind.size(), answer: a})
}

// notInRedis: nothing of the tenure that was refused stands in Redis.
func (n *localName) notInRedis() {
	if n.tenure.phase == asked && n.tenure.openLocks == 0 {
		n.tenure.sentWait = false
	}
}

func tooMany(name string, n, size int64) error {
	return fmt.Errorf("%w: asked for %d of %s, which has %d", wire.ErrSize, n, name, size)
}

// maxSizes bounds for how many names a Client remembers which size it has told.
const maxSizes = 1024
