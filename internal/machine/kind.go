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
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Kind is how a call asks for a name. Most calls of Lock have the kind of their process, and
// share a local name, its tenure and its id. An id has one owner, one ttl and one weight, so
// each call that differs in these has a kind and a local name of its own, with one waiter.
type Kind struct {
	Owner   string        // label of its tenures
	TTL     time.Duration // how long the lock key lives after each grant and renewal
	NoRenew bool          // only Extend prolongs a turn, see Mutex.NoRenew; instead of renewing the process asks
	lingers bool          // an idle tenure is kept for a while
	First   *FirstLock    // asks in place of lock; nil: lock does
	Term    *electionTerm // of an Election; nil: it is no term
	tail    string        // what its ids end with

	// A lock of a shared kind has a capacity, and each holder takes a part of it, its weight.
	// Its tenure has one turn, and is not recalled.
	Letter      byte // of its ids, see keyspace; 0: a Mutex
	weight      int64
	capacity    int64
	keys        []string // lock, fence, queue, holders, and of a semaphore the size key
	renewalID   string   // the id that renewalKeys is for
	renewalKeys []string // the keys of its renewals
	Shrunk      shrunk
}

// FirstLock is a lock by another script: to adopt a hold, to steal a name, or to begin a tick.
type FirstLock struct {
	Script *driver.Script
	Args   []string // behind the id
	Victim Victim   // of a steal
}

// Victim is a tenure that Mutex.Steal ends, and why.
type Victim struct{ ID, Hash, Reason string }

// electionTerm is what a tenure of an Election has proclaimed.
type electionTerm struct {
	nextAnnouncement clock.Timer // of the same term
	proclaims        int64       // counts what it has proclaimed
	proclaimed       string      // the newest of these
}

// DedicatedKind is that of a call with an owner or a ttl of its own.
func (p *Process) DedicatedKind(owner string, ttl time.Duration) *Kind {
	return &Kind{Owner: owner, TTL: ttl, tail: keyspace.Tail(ttl, owner)}
}

// CandidateKind is that of a candidate: its value stands in its ids.
func (p *Process) CandidateKind(value string) *Kind {
	k := p.DedicatedKind(value, p.TTL)
	k.Term = &electionTerm{}
	return k
}

// SharedKind is that of a call for a part of a capacity.
func (p *Process) SharedKind(letter byte, weight, capacity int64) *Kind {
	return &Kind{
		Owner: p.Owner, TTL: p.TTL, Letter: letter, weight: weight, capacity: capacity,
		tail: keyspace.SharedTail(p.TTL, letter, weight, p.Owner),
	}
}

// WholeCapacity is the capacity of an RWMutex, and the weight of a writer; of a
// reader it is 1.
const WholeCapacity = protocol.MaxSize

// Shared reports whether it is a shared kind.
func (k *Kind) Shared() bool { return k.capacity > 0 }

// size is that of a semaphore; else 0.
func (k *Kind) size() int {
	if k.Letter == keyspace.Permits {
		return int(k.capacity)
	}
	return 0
}

// setKeys notes the keys of the scripts of a shared kind.
func (k *Kind) setKeys(keys *keyspace.Keys) {
	switch k.Letter {
	case 0:
	case keyspace.Permits:
		k.keys = keys.WithSize()
	default:
		k.keys = keys.WithHolders()
	}
}

// newest is the value that a term proclaimed last, or was campaigned with.
func (k *Kind) newest() string {
	if k.Term.proclaims > 0 {
		return k.Term.proclaimed
	}
	return k.Owner
}

// ErrNotShared is what only a lease of a Mutex can.
func ErrNotShared(name, what string) error {
	return wire.Failure(name, nil, errors.New(what+" works for a Mutex, not for a Semaphore or an RWMutex"))
}

// callFor is a run of a script on a name: of the one that does this for its kind.
func (n *Name) callFor(s *driver.Script, args []string) driver.Call {
	k := n.Kind
	if !k.Shared() {
		return driver.Call{Script: s, Keys: n.keysFor(s, args), Args: args}
	}
	switch s {
	case script.Lock:
		return driver.Call{Script: script.SharedLock, Keys: k.keys, Args: args}
	case script.Unlock, script.Cancel:
		s = script.SharedUnlock
	case script.Held:
		return driver.Call{Script: script.SharedHeld, Keys: []string{k.keys[3], n.Keys.Lock(), n.Keys.RevocationOf(args[0])}, Args: args}
	case script.Renew:
		return driver.Call{Script: script.SharedRenew, Keys: k.keysToRenew(n.Keys, args[0]), Args: args}
	}
	return driver.Call{Script: s, Keys: k.keys[:4], Args: args}
}

// keysToRenew are the keys of a renewal, which comes often.
func (k *Kind) keysToRenew(keys *keyspace.Keys, id string) []string {
	if k.renewalID != id {
		k.renewalID, k.renewalKeys = id, slices.Concat(k.keys[:4], []string{keys.RevocationOf(id)})
	}
	return k.renewalKeys
}

// Renews reports whether a script prolongs a tenure.
func Renews(s *driver.Script) bool { return s == script.Renew || s == script.SharedRenew }

// tooMany: the caller asks for more permits than there are.
func (n *Name) tooMany(a wire.Answer) {
	n.notInRedis()
	n.reject(TooMany(n.Name, n.Kind.weight, a.Capacity))
}

// noteSize tells, once for each size of a name, that another one counts than was stated.
func (n *Name) noteSize(a wire.Answer) {
	c, k := n.p, n.Kind
	if a.Capacity == 0 || k.Letter != keyspace.Permits || a.Capacity == k.capacity || c.reportedSizes[n.Name] == a.Capacity ||
		a.Word != "granted" && a.Word != "queued" && a.Word != "held" {
		return
	}
	if c.reportedSizes == nil || len(c.reportedSizes) >= maxSizes {
		c.reportedSizes = map[string]int64{}
	}
	c.reportedSizes[n.Name] = a.Capacity
	c.Host.Warn("holdfast: the semaphore has another number of permits than this program asks for; the stored number counts; 'holdfast resize' or Semaphore.Resize changes it for all programs", "name", n.Name, "asked", k.capacity, "actual", a.Capacity)
	c.Host.Note(Event{What: SizeMismatch, Name: n.Name, Asked: int(k.capacity), Actual: int(a.Capacity)})
}

// otherKind: the name is in use as something else. Nobody here can have it.
func (n *Name) otherKind(a wire.Answer) {
	n.notInRedis()
	n.reject(&AnotherKind{Name: n.Name, Kind: n.Kind.Letter, Size: n.Kind.size(), Answer: a})
}

// notInRedis: nothing of the tenure that was refused stands in Redis.
func (n *Name) notInRedis() {
	if n.tenure.phase == asked && n.tenure.openLocks == 0 {
		n.tenure.sentWait = false
	}
}

// TooMany is the error of a call that asks for more permits than there are.
func TooMany(name string, n, size int64) error {
	return fmt.Errorf("%w: asked for %d of %s, which has %d", wire.ErrSize, n, name, size)
}

// maxSizes bounds for how many names a Client remembers which size it has told.
const maxSizes = 1024

// shrunk is what an acquisition of a shared kind knows of a part that was made smaller. From
// then on the tenure has another id, which takes the place of the former one in Redis.
// The renewal and the unlock that name both are right before and after that.
// See docs/shared.md.
type shrunk struct {
	formerIDs []string // the ids before, in order
	replacing bool     // Redis has not replaced them yet
	LastErr   error    // how the newest try failed
}

// Shrink makes the part of a turn smaller. waits: Redis has not done so yet; the host learns when it
// has, for the kind.
func (p *Process) Shrink(u *Turn, letter byte, weight int64, now clock.Instant) (waits bool, e *Ending) {
	if e := u.HasEnded(now); e != nil {
		return false, e
	}
	n := u.Local
	if weight < n.Kind.weight {
		n.replaceID(letter, weight)
	}
	if n.Kind.Shrunk.replacing {
		n.askSmaller(now)
	}
	return n.Kind.Shrunk.replacing, nil
}

// askSmaller renews at once, which replaces the former ids.
func (n *Name) askSmaller(now clock.Instant) {
	t := n.tenure
	t.renewal = n.renewNow(t, now, 0, 0)
	t.renewAt = min(t.renewAt, now.Add(min(t.ttl/6, 500*time.Millisecond)))
	n.arm(now)
}

// replaceID gives the tenure another id, of a smaller weight. The nonce stays: a revocation
// by Revoke or Steal is stored under it.
func (n *Name) replaceID(letter byte, weight int64) {
	k, t := n.Kind, n.tenure
	head := t.ID[:len(t.ID)-len(k.tail)]
	k.Letter, k.weight = letter, weight
	k.tail = keyspace.SharedTail(k.TTL, letter, weight, k.Owner)
	k.Shrunk.formerIDs = append(k.Shrunk.formerIDs, t.ID)
	k.Shrunk.LastErr = nil
	k.Shrunk.replacing = true
	delete(n.p.tenures, t.ID)
	n.p.byFormerID[t.ID] = t // not in endedIDs yet: that would cancel it when Redis shows it
	t.ID = head + k.tail
	n.p.tenures[t.ID] = t
}

// idReplaced: Redis has replaced the former ids.
func (n *Name) idReplaced() {
	if n.Kind.Shrunk.replacing {
		n.Kind.Shrunk.replacing = false
		n.p.Host.Done(n.Kind)
	}
}

// formerIDsEnded: the tenure has ended, so its former ids are only remembered.
func (n *Name) formerIDsEnded(now clock.Instant) {
	if !n.Kind.isShrunk() {
		return
	}
	n.Kind.Shrunk.replacing = false
	for _, id := range n.Kind.Shrunk.formerIDs {
		delete(n.p.byFormerID, id)
		n.p.endedIDs.Add(id, n.remembered(now), now, n.Kind.TTL+time.Minute)
	}
}

// formerIDSeen: Redis knows a former id of a tenure. A late lock has brought it there, or
// a failover, and then it may be the very part that is held. So it is not cancelled
// before the tenure has ended: a renewal replaces it, or takes it out.
func (n *Name) formerIDSeen(t *Tenure, now clock.Instant) {
	switch {
	case t.phase != holding || t.isOver(now):
		t.mayRunLate = true
	case t.renewal != nil && now < t.renewal.Sent.Add(50*time.Millisecond):
		t.renewAt = min(t.renewAt, t.renewal.Sent.Add(50*time.Millisecond))
		n.arm(now)
	case t.failures == 0: // else it is soon renewed
		n.renew(t, now)
		n.arm(now)
	}
}

// lockID is the id that the locks of a tenure bore.
func (n *Name) lockID(t *Tenure) string {
	if n.Kind.isShrunk() {
		return n.Kind.Shrunk.formerIDs[0]
	}
	return t.ID
}

// outdated: a request was answered that bore a former id, and may have run when that was
// replaced already. A renewal then says nothing; a lock has left something behind.
func (r *Request) outdated() bool {
	return r.Local.Kind.isShrunk() && r.Call.Args[0] != r.Tenure.ID
}

// outdatedLock undoes what a lock of a former id may have left.
func (n *Name) outdatedLock(t *Tenure, err error, now clock.Instant) {
	if _, refused := wire.AsServerError(err); refused {
		return
	}
	if t.phase == past {
		t.mayRunLate = t.mayRunLate || wire.MayStillRun(err)
		n.p.cancelTenure(t, now)
		return
	}
	t.mayRunLate = true // its end cancels it, if no renewal does before
	n.formerIDSeen(t, now)
}

// isShrunk reports whether the part was made smaller.
func (k *Kind) isShrunk() bool { return len(k.Shrunk.formerIDs) > 0 }

// withFormerIDs adds the former ids to the arguments of a renewal or an unlock.
func (k *Kind) withFormerIDs(args []string, suffix string) []string {
	return slices.Concat(args, []string{suffix}, k.Shrunk.formerIDs)
}

// Announces reports whether the turn is a term, and the server pushes what it announces.
func (u *Turn) Announces() bool { return u.Local.Kind.Term != nil && u.Local.p.Queue }

// announceEvery is how often a term is announced: a failover may lose the term key.
const announceEvery = 5 * time.Minute

// Elected announces a term, now and again.
func (p *Process) Elected(u *Turn, now clock.Instant) *Removal {
	term := u.Local.Kind.Term
	announced := u.Local.announce(u, now)
	term.nextAnnouncement = clock.Timer{Fire: u.announceOnceMore}
	p.Schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	return announced
}

func (u *Turn) announceOnceMore(now clock.Instant) {
	p, term := u.Local.p, u.Local.Kind.Term
	if !p.Closed && u.Ended.Load() == nil {
		u.Local.announce(u, now)
		p.Schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	}
}

// Resigned notifies observers that a term is over, unless a new leader has announced
// its own.
func (p *Process) Resigned(u *Turn, now clock.Instant) {
	if term := u.Local.Kind.Term; term.nextAnnouncement.Fire != nil {
		p.Schedule.Stop(&term.nextAnnouncement)
	}
	if !p.Closed {
		u.Local.announce(u, now)
	}
}

// Proclaim changes the value of a term. The returned call tells Redis.
func (p *Process) Proclaim(u *Turn, value string) (driver.Call, *Ending) {
	if e := u.Ended.Load(); e != nil {
		return driver.Call{}, e
	}
	term := u.Local.Kind.Term
	term.proclaims++
	term.proclaimed = value
	return u.Local.announcement(u), nil
}

// AnnounceAgain goes on in the background where that call failed.
func (p *Process) AnnounceAgain(u *Turn, now clock.Instant) {
	if !p.Closed && u.Ended.Load() == nil {
		u.Local.announce(u, now)
	}
}

// announce starts a cleanup. If observers miss it, they notice the change when they
// poll.
func (n *Name) announce(u *Turn, now clock.Instant) *Removal {
	return n.p.startCleanup(&cleanup{call: n.announcement(u), local: n, until: now.Add(n.p.TTL)}, now).awaited()
}

func (n *Name) announcement(u *Turn) driver.Call {
	term := n.Kind.Term
	return election.Announcement(n.Keys, u.Tenure.ID, u.Token, n.shard != "", term.proclaims, term.proclaimed)
}
