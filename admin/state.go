package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// State is the state of a name at one moment.
type State struct {
	Name    string
	Key     string        // key of the lock in Redis
	Kind    holdfast.Kind // KindMutex if the name is free
	Holder  *Holder       // nil if free; of several holders the one whose time ends first
	Holders []Holder      // of a semaphore or RWMutex: the first 1,000, by expiry
	Holding int           // of a semaphore or RWMutex: number of holders
	Size    int           // of a semaphore, also of a free one while Redis remembers it; else 0
	Used    int           // of a semaphore: number of held permits
	Token   int64         // newest reserved token; 0 if unknown
	Term    int64         // of an election: token of the leader's term; 0 if none or not announced
	Waiters []Waiter
	Waiting int       // number of waiters; Waiters lists the first 1,000
	At      time.Time // by the server's clock
	Quorum  bool      // of a quorum: its holders cannot be revoked
	Version int       // version of the protocol that uses the name, if it is another than that of this program: it does not understand the rest

	// Unreadable is the error of reading Term and Holder.Revoked, for example because
	// the server's user has no right to their keys. Nil means that they are known.
	Unreadable error
}

// Holder describes the holder of a name, or its last holder during a cool-down.
type Holder struct {
	Owner     string            // label; empty if foreign
	Hash      string            // identifies the tenure; its id is a capability and not shown
	Foreign   bool              // held by a client of another library
	Version   int               // version of the protocol that it speaks, if it is another than that of this program; its other fields are empty
	Cooldown  bool              // not held and not available for Remaining after Owner's hold, see holdfast.Mutex.MinHold
	Own       bool              // a lease of the Client that was given to Of
	Client    string            // hash that identifies the Client, usually one per process; empty if foreign
	Remaining time.Duration     // until expiry in Redis; negative if it has none
	Held      time.Duration     // since the newest token block was reserved, usually at the grant; 0 if unknown
	TTL       time.Duration     // ttl of the tenure; 0 if foreign
	Part      Part              // of a semaphore or reader-writer lock
	Revoked   string            // reason of a revocation that asks it to stop; empty if there is none
	Details   *holdfast.Details // see holdfast.Options.Details; nil if unknown
	Exported  bool              // given away by Lease.Export, so no process renews it by itself; known of a Client with Options.Details, of its newest 32

	client string // behind Client; not for people
}

// Part is the share of a [holdfast.Semaphore] or [holdfast.RWMutex] that a holder has or
// a waiter wants. The Part of a mutex is zero.
type Part struct {
	Permits int  // of a semaphore
	Reads   bool // a reader of an RWMutex
	Writes  bool // a writer of an RWMutex
}

// Waiter is a process in the queue.
type Waiter struct {
	Owner     string
	Hash      string
	Own       bool   // like Holder.Own
	Client    string // like Holder.Client
	Waited    time.Duration
	Listening bool              // its subscription is active; otherwise it will be skipped
	Part      Part              // of a semaphore or RWMutex
	Details   *holdfast.Details // like Holder.Details

	client string
}

// Describe returns the label of the holder, and what its details add.
func (h *Holder) Describe() string {
	switch {
	case h.Version > 0:
		return fmt.Sprintf("a process with another version of holdfast (protocol %d)", h.Version)
	case h.Foreign:
		return "a client of another library"
	}
	return describe(h.Owner, h.Details)
}

// Describe returns the label of the waiter, and what its details add.
func (w *Waiter) Describe() string { return describe(w.Owner, w.Details) }

// describe returns "ci-7 (alice, pid 4121 on web-3)", without what the label says already.
func describe(owner string, d *holdfast.Details) string {
	owner = cmp.Or(owner, "a process without a label")
	if d == nil {
		return owner
	}
	rest := *d
	if rest.Host != "" && strings.Contains(owner, rest.Host) {
		rest.Host = ""
	}
	if strings.HasSuffix(owner, ":"+strconv.Itoa(rest.PID)) {
		rest.PID = 0
	}
	if more := rest.String(); more != "" {
		return owner + " (" + more + ")"
	}
	return owner
}

// newState makes the State of a name from the answer of an inspect script. own is the
// hash of a Client, or empty.
func newState(name, own string, w *wire.State) *State {
	s := &State{
		Name: name, Kind: holdfast.KindMutex, At: w.At, Token: w.Token, Term: w.Term,
		Holding: int(w.Holding), Waiting: int(w.Waiting), Version: w.Version,
	}
	if w.Kind != "" && keyspace.OtherVersion(w.Kind) == 0 {
		s.Kind = holdfast.Kind(w.Kind)
	}
	switch {
	case s.Kind == holdfast.KindSemaphore:
		s.Size, s.Used = int(w.Size), int(w.Used)
	case s.Kind == holdfast.KindMutex && w.Size <= holdfast.MaxSize: // the key of the size may be damaged
		s.Size = int(w.Size)
	}
	if w.Held {
		s.Holder = newHolder(w.Value, own)
		s.Holder.Remaining = w.PTTL
		if s.Holder.Client != "" {
			s.Holder.Held = max(0, time.Duration(protocol.TokensPerMicrosecond*w.At.UnixMicro()-w.Token)*time.Microsecond/protocol.TokensPerMicrosecond)
		}
		s.Holder.Revoked = wire.CleanReason(w.Revoked)
		if w.Leader != "" {
			s.Holder.Owner = keyspace.CleanOwner(w.Leader)
		}
	}
	for _, h := range w.Holders {
		holder := newHolder(h.ID, own)
		holder.Foreign, holder.Cooldown, holder.Remaining = false, false, h.Remaining
		holder.Part = holder.Part.reducedTo(h.Weight)
		s.Holders = append(s.Holders, *holder)
	}
	if len(s.Holders) > 0 {
		s.Holder = &s.Holders[0]
	}
	for _, waiter := range w.Waiters {
		id, _ := keyspace.ParseID(waiter.ID)
		client := keyspace.HashClient(id.Client)
		s.Waiters = append(s.Waiters, Waiter{
			Owner: id.Owner, Hash: keyspace.HashID(waiter.ID), Own: client != "" && client == own, Part: partOf(id),
			Waited: waiter.Waited, Listening: waiter.Listening, Client: client, client: id.Client,
		})
	}
	return s
}

// newHolder returns what the value of a lock key says about its holder.
func newHolder(value, own string) *Holder {
	h := &Holder{Hash: keyspace.HashID(value), Version: keyspace.OtherVersion(value)}
	if h.Version > 0 {
		return h
	}
	id, ours := keyspace.ParseID(value)
	if !ours {
		if h.Owner, h.Cooldown = keyspace.CooldownOwner(value); h.Cooldown {
			h.Hash = ""
		}
		h.Foreign = !h.Cooldown
		return h
	}
	h.Owner, h.TTL, h.Part = id.Owner, id.TTL, partOf(id)
	h.Client, h.client = keyspace.HashClient(id.Client), id.Client
	h.Own = h.Client == own
	return h
}

func partOf(id keyspace.ID) Part {
	switch id.Letter {
	case keyspace.Permits:
		return Part{Permits: int(id.Weight)}
	case keyspace.Reader:
		return Part{Reads: true}
	case keyspace.Writer:
		return Part{Writes: true}
	}
	return Part{}
}

// reducedTo returns the part of a holder that has reduced its weight, see holdfast.Lease.Keep and
// holdfast.Lease.Downgrade.
func (p Part) reducedTo(weight int64) Part {
	switch {
	case p.Permits > 0:
		return Part{Permits: int(weight)}
	case p.Writes && weight == 1:
		return Part{Reads: true}
	}
	return p
}

// HeldBy reports whether the Client with this [holdfast.Client.ID] holds the name.
func (s *State) HeldBy(client string) bool {
	return slices.ContainsFunc(s.allHolders(), func(h *Holder) bool { return h.Client != "" && h.Client == client && !h.Cooldown })
}

// allHolders returns the holders that are listed.
func (s *State) allHolders() []*Holder {
	if s.Holder != nil && len(s.Holders) == 0 {
		return []*Holder{s.Holder}
	}
	all := make([]*Holder, len(s.Holders))
	for i := range s.Holders {
		all[i] = &s.Holders[i]
	}
	return all
}
