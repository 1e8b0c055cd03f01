package holdfast

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
)

var (
	scriptInspect = script.Inspect
	scriptRepair  = script.Repair
)

// State is what Inspect saw of a name, in one moment.
type State struct {
	Name    string
	Key     string   // the lock's key in Redis
	Kind    Kind     // what it is used as; KindMutex where nobody holds it
	Holder  *Holder  // nil: free; of several the one whose time ends first
	Holders []Holder // of a shared kind, by the end of their time, the first 1,000; else none
	Holding int      // of a shared kind: how many hold; else 0
	Size    int      // of a semaphore, and of a free name while Redis remembers the size it had as one, for 30 days; else 0
	Used    int      // permits that are held of a semaphore; else 0
	Token   int64    // newest token reserved; 0: none remembered
	Term    int64    // of an election: the number of the leader's term; 0: it is none, or it was not announced
	Waiters []Waiter
	Waiting int       // how many wait; Waiters lists the first 1,000
	At      time.Time // by the server's clock

	// Unreadable is why Term and Holder.Revoked are not known: the server's user may not
	// read the keys of orders and terms. Nil: they are known.
	Unreadable error

	term   int64 // of a quorum: the first token of Holder; 0: not known
	quorum bool  // of a quorum: nobody there can be revoked
}

// Holder is who holds a name, or after whom it rests.
type Holder struct {
	Owner     string        // label; empty when foreign
	Hash      string        // names the tenure: ids are capabilities and are not shown
	Foreign   bool          // not one of holdfast's ids
	Cooldown  bool          // nobody holds the name: it rests for Remaining after Owner's hold, see Mutex.MinHold
	Own       bool          // this Client's
	Client    string        // names the Client, which is its process as a rule, by a hash; empty when foreign
	Remaining time.Duration // until expiry in Redis; negative: it has none
	Held      time.Duration // since the newest stride of tokens was reserved, which is the grant unless the tenure needed more; 0: not known
	TTL       time.Duration // of the tenure; 0 when foreign
	Part      Part          // of a shared kind
	Revoked   string        // the reason of a Revoke that stands: it was asked to stop; empty: none
	Details   *Details      // what its Client tells of its process, see Options.Details; nil: nothing
	Exported  bool          // Lease.Export gave it away: no process renews it by itself. Known of a Client that has Options.Details, of its newest 32

	client string // behind Client; not for people
}

// Part is what a holder has, or a waiter wants, of a lock of a shared kind. The
// zero Part is a mutex's.
type Part struct {
	Permits int  // of a semaphore
	Reads   bool // of an RWMutex: a reader
	Writes  bool // of an RWMutex: a writer
}

// Waiter is a process in line.
type Waiter struct {
	Owner     string
	Hash      string
	Own       bool
	Client    string // as Holder.Client
	Waited    time.Duration
	Listening bool     // its wake channel has a listener; without one it will be skipped
	Part      Part     // of a shared kind
	Details   *Details // as Holder.Details

	client string
}

const listed = 1000

// Inspect looks at a name and changes nothing. It costs a round trip, one more if
// the name is a semaphore's or an RWMutex's, and one more if the server's user may not
// read the size of a semaphore. If the name has a holder or a waiter, one more reads their
// Details: it may take 250 ms, and what has not arrived by then is left out.
// State.Diagnose says what it means. Errors: ErrName; ErrUnreachable; ErrClosed; a
// ServerError; that of ctx.
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
		reply, err := c.evalBounded(ctx, l.call)
		l.heard(reply, err)
	}
	if l.err != nil {
		return nil, l.err
	}
	c.addDetails(ctx, l.state)
	return l.state, nil
}

// evalBounded is evalWithin the patience with the store.
func (c *core) evalBounded(callers context.Context, call Call) (reply []string, err error) {
	return c.evalWithin(callers, call, c.options.patience())
}

func (c *core) evalWithin(callers context.Context, call Call, limit time.Duration) (reply []string, err error) {
	ctx, cancel := context.WithTimeout(callers, limit)
	defer func() {
		if callers.Err() == nil {
			err = notTheCallers(err)
		}
	}()
	defer cancel()
	return evalWithin(ctx, c.ctx, c.store, call)
}

var errState = errors.New("inspect gave an answer of another form")

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
		if err != nil || n > maxToken {
			return nil, fmt.Errorf("%w: %q is no number", errState, shorten(reply[at]))
		}
		figures[i] = n
	}
	us := figures[0]
	s := &State{Name: name, Kind: KindMutex, At: time.UnixMicro(us), Token: figures[2], Waiting: int(figures[3])}
	if reply[3] == "1" {
		s.Holder = c.holder(reply[2], time.Duration(figures[1])*time.Millisecond, 2*us-s.Token)
		s.Holder.Revoked = cleanReason(reply[8])
		if term, err := strconv.ParseInt(reply[7], 10, 64); err == nil && term <= maxToken {
			s.Term = term // whoever writes to Redis can write any
		}
		if reply[9] != "" {
			s.Holder.Owner = cleanOwner(reply[9])
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
			return fmt.Errorf("%w: %q is no arrival", errState, shorten(rest[1]))
		}
		id, _ := parseID(rest[0])
		s.Waiters = append(s.Waiters, Waiter{
			Owner: id.owner, Hash: hashID(rest[0]), Own: id.client == c.client, Part: id.part(),
			Waited:    max(0, time.Duration(us-int64(score))*time.Microsecond),
			Listening: rest[2] != "0",
			Client:    hashClient(id.client), client: id.client,
		})
	}
	return nil
}

func (c *core) holder(value string, remaining time.Duration, sinceToken int64) *Holder {
	h := &Holder{Hash: hashID(value), Remaining: remaining}
	id, ours := parseID(value)
	if !ours {
		if h.Owner, h.Cooldown = restsAfter(value); h.Cooldown {
			h.Hash = ""
		}
		h.Foreign = !h.Cooldown
		return h
	}
	h.Owner, h.TTL, h.Own = id.owner, id.ttl, id.client == c.client
	h.Client, h.client = hashClient(id.client), id.client
	h.Held = max(0, time.Duration(sinceToken)*time.Microsecond/2)
	return h
}

// Names yields the names below a prefix that were locked in the last day, in no
// order: it scans the keyspace for their fence keys, which costs Redis a little
// for every key it has. An error ends it: ErrUnreachable, ErrClosed, a ServerError.
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
		for key, err := range c.store.Scan(ctx, fencePrefix+"*") {
			if err != nil {
				yield("", unanswered("list of names", "", err))
				return
			}
			name, ok := nameOfFence(c.options.Prefix, key)
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
