package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Kind is how a call asks for a name. Most calls of Lock have the kind of their Client, and
// share a local name, its tenure and its id. An id has one owner, one ttl and one weight, so
// each call that differs in these has a kind and a local name of its own, with one waiter.
type Kind struct {
	Owner string // label of its tenures
	lifetime.Terms
	lingers  bool          // an idle tenure is kept for a while
	First    *FirstLock    // replaces the script lock; nil: lock is sent
	Term     *electionTerm // of an Election; else nil
	idSuffix string        // the end of its ids

	// A lock of a shared kind has a capacity, and each holder takes a part of it, its weight.
	Letter   byte // of its ids, see keyspace; 0: a Mutex
	weight   int64
	capacity int64
	scripts  map[*driver.Script]*driver.Script // by the script of a Mutex: the one that replaces it; nil: a Mutex
	lockArgs []string                          // arguments of lock, after the id
	keys     []string                          // lock, fence, queue, holders, and of a semaphore the size key
	oneTurn  bool                              // its tenure has one turn, and is not recalled
	shrunk   shrunk
}

// sharedScripts has the scripts of the shared kinds, by the script of a Mutex that each replaces.
var sharedScripts = map[*driver.Script]*driver.Script{
	script.Lock:   script.SharedLock,
	script.Unlock: script.SharedUnlock,
	script.Cancel: script.SharedUnlock,
	script.Held:   script.SharedHeld,
	script.Renew:  script.SharedRenew,
}

// FirstLock replaces the script lock, to adopt a lease, to steal a name or to begin a tick.
type FirstLock struct {
	Script *driver.Script
	Args   []string // after the id
	Victim Victim   // of a steal
}

// Victim is a tenure that Mutex.Steal ends, and why.
type Victim struct{ ID, Hash, Reason string }

// electionTerm has what a tenure of an Election has proclaimed.
type electionTerm struct {
	nextAnnouncement clock.Timer // of the same term
	proclaims        int64       // number of values proclaimed
	proclaimed       string      // the newest value
}

// DedicatedKind returns the kind of a call with its own owner or terms.
func DedicatedKind(owner string, terms lifetime.Terms) *Kind {
	return &Kind{Owner: owner, Terms: terms, idSuffix: keyspace.Mark(terms.Memory) + keyspace.Suffix(terms.TTL, owner)}
}

// CandidateKind returns the kind of a candidate of an Election. Its value is the owner in its ids.
func (s *Settings) CandidateKind(value string) *Kind {
	k := DedicatedKind(value, lifetime.Terms{TTL: s.TTL, Memory: s.TokenMemory})
	k.Term = &electionTerm{}
	return k
}

// SharedKind returns the kind of a call that takes weight of a capacity. For letter see keyspace.
func SharedKind(owner string, terms lifetime.Terms, letter byte, weight, capacity int64) *Kind {
	return &Kind{
		Owner: owner, Terms: terms, Letter: letter, weight: weight, capacity: capacity,
		scripts: sharedScripts, lockArgs: []string{wire.Itoa(capacity)}, oneTurn: true,
		idSuffix: keyspace.Mark(terms.Memory) + keyspace.SharedSuffix(terms.TTL, letter, weight, owner),
	}
}

// WholeCapacity is the capacity of an RWMutex, and the weight of a writer. A reader has weight 1.
const WholeCapacity = protocol.MaxSize

// Shared reports whether it is a shared kind.
func (k *Kind) Shared() bool { return k.capacity > 0 }

// size returns the size of a semaphore; else 0.
func (k *Kind) size() int {
	if k.Letter == keyspace.Permits {
		return int(k.capacity)
	}
	return 0
}

// setKeys notes the keys of the scripts of a shared kind.
func (k *Kind) setKeys(keys *keyspace.Keys) {
	if k.Letter == keyspace.Permits {
		k.keys = keys.WithSize()
	} else {
		k.keys = keys.WithHolders()
	}
}

// newest returns the value that a term proclaimed last, or that Campaign got.
func (k *Kind) newest() string {
	if k.Term.proclaims > 0 {
		return k.Term.proclaimed
	}
	return k.Owner
}

// MutexOnly returns the error of a method, what, that works only for a Mutex.
func MutexOnly(name, what string) error {
	return wire.Failure(name, nil, errors.New(what+" works for a Mutex, not for a Semaphore or an RWMutex"))
}

// otherCall returns the call of a script that may have other keys. For a shared kind it is the shared
// script that does the same. Renewals are frequent, so a tenure makes their keys once.
func (n *Name) otherCall(s *driver.Script, args []string) driver.Call {
	k := n.Kind
	if shared := k.scripts[s]; shared != nil {
		s = shared
	}
	call := driver.Call{Script: s, Keys: n.Keys[:], Args: args}
	switch t := n.tenure; s {
	case script.Adopt, script.Take:
		call.Keys = n.Keys.WithRevocation()
	case script.OnceLock:
		call.Keys = append(call.Keys, n.Keys.WithOnce()[1])
	case script.Held:
		call.Keys = []string{n.Keys.Lock(), n.Keys.Revocation()}
	case script.Renew:
		if t.renewKeys == nil {
			t.renewKeys = n.Keys.ToRenew()
		}
		if call.Keys = t.renewKeys; len(args) == 1 { // without the fence key
			call.Keys = t.renewKeys[:3]
		}
	case script.SharedLock:
		call.Keys = k.keys
	case script.SharedUnlock:
		call.Keys = k.keys[:4]
	case script.SharedHeld:
		call.Keys = []string{k.keys[3], n.Keys.Lock(), n.Keys.RevocationOf(args[0])}
	case script.SharedRenew:
		if t.renewKeys == nil {
			t.renewKeys = slices.Concat(k.keys[:4], []string{n.Keys.RevocationOf(t.ID)}, k.keys[4:])
		}
		if call.Keys = t.renewKeys; len(args) == 1 { // the fence key and the size are left alone
			call.Keys = t.renewKeys[:5]
		}
	}
	return call
}

// noteSize warns, once for each size of a name, that the semaphore in Redis has another size than
// this program asks for.
func (n *Name) noteSize(a wire.Answer) {
	c, k := n.client, n.Kind
	if k.Letter != keyspace.Permits || a.Capacity == k.capacity || c.reportedSizes[n.Text] == a.Capacity ||
		a.Word != wire.Granted && a.Word != wire.Queued && a.Word != wire.Held {
		return
	}
	if c.reportedSizes == nil || len(c.reportedSizes) >= maxSizes {
		c.reportedSizes = map[string]int64{}
	}
	c.reportedSizes[n.Text] = a.Capacity
	c.Host.Warn("holdfast: the semaphore has another number of permits than this program asks for; the stored number counts; 'holdfast resize' or Semaphore.Resize changes it for all programs", "name", n.Text, "asked", k.capacity, "actual", a.Capacity)
	c.Host.Note(Event{What: SizeMismatch, Name: n.Text, Asked: int(k.capacity), Actual: int(a.Capacity)})
}

// SizeError is the error of a call that asks for more permits than there are.
func SizeError(name string, n, size int64) error {
	return fmt.Errorf("%w: asked for %d of %s, which has %d", wire.ErrSize, n, name, size)
}

// maxSizes bounds for how many names noteSize remembers the size that it reported.
const maxSizes = 1024

// shrunk is the state of a shared tenure whose weight was reduced. Each renewal stores the weight again,
// because a failover may undo it. See docs/shared.md.
type shrunk struct {
	weight   int64 // 0: not reduced
	unstored bool  // Redis has not confirmed it yet
	lastErr  error // how the newest try failed
}

// Shrink reduces the weight of a turn. If waits is true, Redis has not stored it yet: Host.Done gets
// the Kind of the turn's name when it has. e is not nil if the turn has ended.
func (c *Client) Shrink(u *Turn, weight int64, now clock.Instant) (waits bool, e *Ending) {
	if e := u.HasEnded(now); e != nil {
		return false, e
	}
	n := u.Name
	if weight < n.Kind.weight {
		n.Kind.weight = weight
		n.Kind.shrunk = shrunk{weight: weight, unstored: true}
	}
	if n.Kind.shrunk.unstored {
		n.storeWeight(now)
	}
	return n.Kind.shrunk.unstored, nil
}

// ShrinkError returns the error of the newest request of Shrink; nil: it has no answer yet.
func (n *Name) ShrinkError() error { return n.Kind.shrunk.lastErr }

// storeWeight renews at once, which stores the reduced weight.
func (n *Name) storeWeight(now clock.Instant) {
	t := n.tenure
	t.renewal = n.sendRenewal(t, now, 0, 0, false)
	t.RenewAt = min(t.RenewAt, now.Add(min(t.TTL/6, 500*time.Millisecond)))
	n.arm(now)
}

// weightStored notes that a renewal has stored a reduced weight.
func (n *Name) weightStored(weight int64) {
	if s := &n.Kind.shrunk; s.unstored && weight == s.weight {
		s.unstored = false
		n.client.Host.Done(n.Kind)
	}
}

// Announces reports whether the turn is a term that is announced: the server must push.
func (u *Turn) Announces() bool { return u.Name.Kind.Term != nil && u.Name.client.Queue }

// announceEvery is how often a term is announced: a failover may lose the term key.
const announceEvery = 5 * time.Minute

// Elected announces a term, now and every announceEvery. It returns the first announcement, so
// that a call can wait for it.
func (c *Client) Elected(u *Turn, now clock.Instant) *Removal {
	term := u.Name.Kind.Term
	announced := u.announce(now)
	term.nextAnnouncement = clock.Timer{Fire: u.announceOnceMore}
	c.Schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	return announced
}

func (u *Turn) announceOnceMore(now clock.Instant) {
	c, term := u.Name.client, u.Name.Kind.Term
	if !c.Closed && u.Ended.Load() == nil {
		u.announce(now)
		c.Schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	}
}

// Resigned notifies observers that a term is over, unless a new leader has announced
// its own.
func (c *Client) Resigned(u *Turn, now clock.Instant) {
	if term := u.Name.Kind.Term; term.nextAnnouncement.Fire != nil {
		c.Schedule.Stop(&term.nextAnnouncement)
	}
	if !c.Closed {
		u.announce(now)
	}
}

// Proclaim changes the value of a term. It returns the call that stores the value in Redis, or how
// the turn has ended. If the call fails, use AnnounceAgain.
func (c *Client) Proclaim(u *Turn, value string) (driver.Call, *Ending) {
	if e := u.Ended.Load(); e != nil {
		return driver.Call{}, e
	}
	term := u.Name.Kind.Term
	term.proclaims++
	term.proclaimed = value
	return u.announcement(), nil
}

// AnnounceAgain repeats a failed call of Proclaim in the background. It does nothing after the turn.
func (c *Client) AnnounceAgain(u *Turn, now clock.Instant) {
	if !c.Closed && u.Ended.Load() == nil {
		u.announce(now)
	}
}

// announce starts a cleanup that announces the term. Observers that miss it notice
// the change when they poll.
func (u *Turn) announce(now clock.Instant) *Removal {
	n := u.Name
	return n.client.startCleanup(&cleanup{call: u.announcement(), name: n, until: now.Add(n.client.TTL)}, now).removal
}

func (u *Turn) announcement() driver.Call {
	n, term := u.Name, u.Name.Kind.Term
	return election.Announcement(n.Keys, u.Tenure.ID, u.Token, n.shard != "", term.proclaims, term.proclaimed)
}
