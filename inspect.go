package holdfast

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// State is the state of a name at one moment, from [Client.Inspect].
type State struct {
	Name    string
	Key     string   // key of the lock in Redis
	Kind    Kind     // KindMutex if the name is free
	Holder  *Holder  // nil if free; of several holders the one whose time ends first
	Holders []Holder // of a semaphore or RWMutex: the first 1,000, by expiry
	Holding int      // of a semaphore or RWMutex: number of holders
	Size    int      // of a semaphore, also of a free one for 30 days; else 0
	Used    int      // of a semaphore: number of held permits
	Token   int64    // newest reserved token; 0 if unknown
	Term    int64    // of an election: token of the leader's term; 0 if none or not announced
	Waiters []Waiter
	Waiting int       // number of waiters; Waiters lists the first 1,000
	At      time.Time // by the server's clock

	// Unreadable is the error of reading Term and Holder.Revoked, for example because
	// the server's user has no right to their keys. Nil means that they are known.
	Unreadable error

	term   int64 // of a quorum: the first token of Holder; 0: not known
	quorum bool  // of a quorum: nobody there can be revoked
}

// Holder describes the holder of a name, or its last holder during a cool-down.
type Holder struct {
	Owner     string        // label; empty if foreign
	Hash      string        // identifies the tenure; its id is a capability and not shown
	Foreign   bool          // held by a client of another library
	Cooldown  bool          // not held and not available for Remaining after Owner's hold, see Mutex.MinHold
	Own       bool          // a lease of this Client
	Client    string        // hash that identifies the Client, usually one per process; empty if foreign
	Remaining time.Duration // until expiry in Redis; negative if it has none
	Held      time.Duration // since the newest token block was reserved, usually at the grant; 0 if unknown
	TTL       time.Duration // ttl of the tenure; 0 if foreign
	Part      Part          // of a semaphore or reader/writer lock
	Revoked   string        // reason of a revocation that asks it to stop; empty if there is none
	Details   *Details      // see Options.Details; nil if unknown
	Exported  bool          // given away by Lease.Export, so no process renews it by itself; known of a Client with Options.Details, of its newest 32

	client string // behind Client; not for people
}

// Part is the share of a [Semaphore] or [RWMutex] that a holder has or a waiter wants.
// The Part of a mutex is zero.
type Part struct {
	Permits int  // of a semaphore
	Reads   bool // a reader of an RWMutex
	Writes  bool // a writer of an RWMutex
}

// Waiter is a process in the queue.
type Waiter struct {
	Owner     string
	Hash      string
	Own       bool
	Client    string // like Holder.Client
	Waited    time.Duration
	Listening bool     // its subscription is active; otherwise it will be skipped
	Part      Part     // of a semaphore or RWMutex
	Details   *Details // like Holder.Details

	client string
}

const listed = 1000

// Inspect returns the state of a name and changes nothing. [State.Diagnose] explains
// it. Inspect blocks until Redis has answered or ctx has ended. It waits at most
// another 250 ms for the [Details] of holders and waiters.
//
// Errors: [ErrName], [ErrUnreachable], [ErrClosed], a [driver.ServerError], or the error of
// ctx.
func (c *Client) Inspect(ctx context.Context, name string) (*State, error) {
	k, err := c.openKeys(name)
	if err != nil {
		return nil, err
	}
	if c.quorum != nil {
		return c.quorum.inspect(ctx, name, k)
	}
	l := c.newLook(name, k, listed)
	for !l.done {
		reply, err := c.calls.Run(ctx, c.options.patience(), l.call)
		l.heard(reply, err)
	}
	if l.err != nil {
		return nil, l.err
	}
	c.addDetails(ctx, l.state)
	return l.state, nil
}

var errState = errors.New("inspect: unexpected answer")

func (c *core) decodeState(name string, reply []string) (*State, error) {
	if len(reply) > 0 && reply[0] == "shared" {
		return c.decodeShared(name, reply)
	}
	if len(reply) < 11 || (len(reply)-11)%3 != 0 || reply[0] != "state" {
		return nil, errState
	}
	figures := make([]int64, 4)
	for i, at := range []int{1, 4, 5, 6} {
		n, err := strconv.ParseInt(reply[at], 10, 64)
		if err != nil || n > wire.MaxToken {
			return nil, fmt.Errorf("%w: %q is no number", errState, keyspace.Shorten(reply[at]))
		}
		figures[i] = n
	}
	us := figures[0]
	s := &State{Name: name, Kind: KindMutex, At: time.UnixMicro(us), Token: figures[2], Waiting: int(figures[3])}
	if reply[3] == "1" {
		s.Holder = c.holder(reply[2], time.Duration(figures[1])*time.Millisecond, 2*us-s.Token)
		s.Holder.Revoked = wire.CleanReason(reply[8])
		if term, err := strconv.ParseInt(reply[7], 10, 64); err == nil && term <= wire.MaxToken {
			s.Term = term // whoever writes to Redis can write any
		}
		if reply[9] != "" {
			s.Holder.Owner = keyspace.CleanOwner(reply[9])
		}
	}
	if size, err := strconv.ParseInt(reply[10], 10, 64); err == nil && size > 0 && size <= MaxSize {
		s.Size = int(size)
	}
	return s, c.decodeWaiters(s, us, reply[11:])
}

// decodeWaiters reads id, arrival and listeners of each.
func (c *core) decodeWaiters(s *State, us int64, rest []string) error {
	for ; len(rest) > 0; rest = rest[3:] {
		score, err := strconv.ParseFloat(rest[1], 64)
		if err != nil {
			return fmt.Errorf("%w: %q is no arrival", errState, keyspace.Shorten(rest[1]))
		}
		id, _ := keyspace.ParseID(rest[0])
		s.Waiters = append(s.Waiters, Waiter{
			Owner: id.Owner, Hash: keyspace.HashID(rest[0]), Own: id.Client == c.client, Part: partOf(id),
			Waited:    max(0, time.Duration(us-int64(score))*time.Microsecond),
			Listening: rest[2] != "0",
			Client:    keyspace.HashClient(id.Client), client: id.Client,
		})
	}
	return nil
}

func (c *core) holder(value string, remaining time.Duration, sinceToken int64) *Holder {
	h := &Holder{Hash: keyspace.HashID(value), Remaining: remaining}
	id, ours := keyspace.ParseID(value)
	if !ours {
		if h.Owner, h.Cooldown = keyspace.CooldownOwner(value); h.Cooldown {
			h.Hash = ""
		}
		h.Foreign = !h.Cooldown
		return h
	}
	h.Owner, h.TTL, h.Own = id.Owner, id.TTL, id.Client == c.client
	h.Client, h.client = keyspace.HashClient(id.Client), id.Client
	h.Held = max(0, time.Duration(sinceToken)*time.Microsecond/2)
	return h
}

// Names yields the names with a prefix that were locked in the last day, in no order.
// It scans the whole keyspace. It ends after an error: [ErrUnreachable], [ErrClosed], a
// [driver.ServerError], or the error of ctx.
func (c *Client) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		switch {
		case c.isClosed():
			yield("", ErrClosed)
			return
		case c.quorum != nil:
			c.quorum.names(ctx, prefix)(yield)
			return
		}
		seen := make(map[string]struct{})
		for key, err := range c.store.Scan(ctx, keyspace.Fences) {
			if err != nil {
				yield("", wire.Unanswered("list of names", "", err))
				return
			}
			name, ok := keyspace.NameOfFence(c.options.Prefix, key)
			if _, twice := seen[name]; !ok || twice || !strings.HasPrefix(name, prefix) {
				continue
			}
			seen[name] = struct{}{}
			if !yield(name, nil) {
				return
			}
		}
	}
}
