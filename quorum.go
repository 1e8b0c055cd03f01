package holdfast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// MaxQuorumTTL is the longest TTL on a quorum. A restarted node does not vote for this
// long, because it may have forgotten a vote.
const MaxQuorumTTL = time.Minute

// QuorumClient locks names on a majority of independent masters. It is safe for
// concurrent use. It has only what a quorum can do: see [NewQuorum].
type QuorumClient struct{ client *Client }

// QuorumOptions are the settings of a [QuorumClient]. Each field means the same as in
// [Options]. Nil QuorumOptions mean the defaults.
type QuorumOptions struct {
	Prefix  string
	TTL     time.Duration // at most MaxQuorumTTL
	Owner   string
	Logger  *slog.Logger
	OnEvent func(Event)
}

// NewQuorum returns a client that locks names on a majority of independent masters. It
// needs an odd number of stores, at least three. Locks work while a minority of the
// masters is dead, frozen or unreachable. [driver.Lazy] makes stores of nodes that may be
// off when the program starts. The id is the quorum-id that quorum.Init or "holdfast
// quorum init" returned.
//
// A quorum has limits:
//
//   - It has no queue. A waiter polls all nodes every 25 to 100 ms and is not served in
//     order. If other clients wait, a client that releases a name lets them poll first.
//     Its own next Lock or TryLock can take 635 ms longer.
//   - It has no Semaphore, RWMutex, Once and OnceEvery, and nobody can revoke or steal
//     its leases.
//   - [Lease.Export], [Lease.Eval], [Lease.Proclaim], [Mutex.Steal] and [Mutex.MinHold]
//     return an error.
//   - Tokens rise while at most a minority of the nodes loses its data at a time.
//
// NewQuorum panics if the id, the stores or the options are not allowed.
func NewQuorum(id string, options *QuorumOptions, stores ...driver.Store) *QuorumClient {
	if len(stores) < 3 || len(stores)%2 == 0 {
		panic(fmt.Sprintf("holdfast: NewQuorum got %d stores: it needs an odd number, 3 or more (one more store than an odd number tolerates no more failures)", len(stores)))
	}
	var o QuorumOptions
	if options != nil {
		o = *options
	}
	v := (&Options{Prefix: o.Prefix, TTL: o.TTL, Owner: o.Owner, Logger: o.Logger, OnEvent: o.OnEvent}).withDefaults()
	if err := checkQuorum(id, v.TTL, len(stores)); err != nil {
		panic("holdfast: NewQuorum: " + err.Error())
	}
	q := &quorum{id: id, need: majority.Of(len(stores))}
	for i, store := range stores {
		if store == nil || store.Sharded() {
			panic(fmt.Sprintf("holdfast: NewQuorum: store %d is nil or a Redis Cluster: a node of a quorum is one master", i+1))
		}
		q.nodes = append(q.nodes, &node{number: i, store: store})
	}
	c := newCore(v, stores[0])
	q.c, c.quorum = c, q
	for _, n := range q.nodes {
		n.gathering.timer = c.gatheringTimer(&n.gathering)
	}
	// Nothing is pushed: no line waits for a subscription, none is opened.
	c.wake = newWake(c, "")
	c.wake.wanted, c.wake.up, c.wake.whole = true, true, -clock.Instant(time.Hour)
	front := &QuorumClient{c.start()}
	front.client.front = front
	return front
}

func checkQuorum(id string, ttl time.Duration, n int) error {
	parsed, err := keyspace.ParseQuorumID(id)
	switch {
	case err != nil:
		return fmt.Errorf("%q %w", id, err)
	case parsed.Size != n:
		return fmt.Errorf("%s is a quorum of %d, but there are %d stores", id, parsed.Size, n)
	case ttl > MaxQuorumTTL:
		return fmt.Errorf("the TTL is %v: on a quorum it must be at most %v", ttl, MaxQuorumTTL)
	}
	return nil
}

// Mutex returns the lock of a name, see [Client.Mutex].
func (q *QuorumClient) Mutex(name string) *Mutex { return q.client.Mutex(name) }

// Multi returns the lock of several names, see [Client.Multi].
func (q *QuorumClient) Multi(names ...string) *Multi { return q.client.Multi(names...) }

// Election returns the election of a name, see [Client.Election].
func (q *QuorumClient) Election(name string) *Election { return q.client.Election(name) }

// LocalState is like [Client.LocalState].
func (q *QuorumClient) LocalState() []LocalState { return q.client.LocalState() }

// Owner returns the label of this client's leases, see [Options.Owner].
func (q *QuorumClient) Owner() string { return q.client.Owner() }

// Quorum returns the quorum-id. All processes of a quorum have the same one.
func (q *QuorumClient) Quorum() string { return q.client.quorum.id }

// ID returns the hash that identifies this client, like [Client.ID]. It is not the
// quorum-id: see [QuorumClient.Quorum].
func (q *QuorumClient) ID() string { return q.client.ID() }

// TTL is like [Client.TTL].
func (q *QuorumClient) TTL() time.Duration { return q.client.TTL() }

// Prefix is like [Client.Prefix].
func (q *QuorumClient) Prefix() string { return q.client.Prefix() }

// Stores returns the stores that NewQuorum got.
func (q *QuorumClient) Stores() []driver.Store {
	stores := make([]driver.Store, len(q.client.quorum.nodes))
	for i, n := range q.client.quorum.nodes {
		stores[i] = n.store
	}
	return stores
}

// Close ends the client, see [Client.Close].
func (q *QuorumClient) Close() error { return q.client.Close() }

// quorum is how a tenure is won, renewed and ended on several masters. Lines,
// turns, deadlines and the schedule are those of one master; only what is asked
// and who must have answered differs. docs/quorum.md has the protocol. Guarded
// by the core's mutex.
type quorum struct {
	c     *core
	id    string
	need  int // a majority
	nodes []*node
	seen  int64 // newest token heard of

	yields map[string]clock.Instant // by name: until when it is left to a waiter elsewhere
}

// node is one master of a quorum. Guarded by the core's mutex, but for the
// atomics.
type node struct {
	number   int
	store    driver.Store
	usual    time.Duration // round trip, lately; 0: not known
	inflight int           // requests that have not come back
	spoke    clock.Instant // when it last answered, or was first asked of what it owes

	gathering gathering
	ghosts    map[string]bool  // ids that are being ended here, for they were seen
	owed      map[string]*line // ids of lost ballots that it may yet hear of: it was silent

	silent atomic.Bool  // it did not answer in time: nobody waits for it until it does
	busy   atomic.Int64 // calls in the driver
}

// crowd is how many calls may hang in one driver before more are not begun.
const crowd = 64

var errSilent = errors.New("the node does not answer")

// eval runs a call. A node that hangs must not gather goroutines.
func (n *node) eval(ctx context.Context, call driver.Call) ([]string, error) {
	defer n.busy.Add(-1)
	if n.hangs() {
		return nil, errSilent
	}
	return n.store.Eval(ctx, call)
}

// evalAll is eval for calls that travel together.
func (n *node) evalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	defer n.busy.Add(-1)
	if n.hangs() {
		return slices.Repeat([]driver.Result{{Err: errSilent}}, len(calls))
	}
	return n.store.EvalAll(ctx, calls)
}

// hangs reports whether so many calls hang in the driver that one more is not begun. It
// counts one more.
func (n *node) hangs() bool { return n.busy.Add(1) > crowd && n.silent.Load() }

// owes notes an id that may have to be taken off it.
func (n *node) owes(id string, l *line) {
	if n.owed == nil {
		n.owed = map[string]*line{}
	}
	n.owed[id] = l
}

// heard notes how a request to the node went.
func (n *node) heard(r *request, err error, now clock.Instant) {
	n.inflight--
	if _, refused := wire.AsServerError(err); err != nil && !refused {
		n.silent.Store(true)
		return
	}
	n.silent.Store(false)
	n.spoke = now
	took := now.Sub(r.sent)
	if n.usual == 0 {
		n.usual = took
	}
	n.usual += (took - n.usual) / 8
}

// patience is how long a decision waits for the node: a few times its usual
// round trip. Whether a lock is won never depends on it, only when a try is
// given up.
func (n *node) patience(o *Options) time.Duration {
	if n.usual == 0 {
		return min(o.attempt(), 500*time.Millisecond)
	}
	return min(4*n.usual+25*time.Millisecond, o.attempt())
}

// nodeKeys are the keys of a name on each node, as scripts want them.
type nodeKeys struct {
	lock  [4]string // L, F, M and wanted; most scripts take fewer
	leave [2]string // L and wanted
}

func (l *line) onNodes() *nodeKeys {
	if l.nodeKeys == nil {
		lock, wanted := l.keys.Lock(), l.keys.Wanted()
		l.nodeKeys = &nodeKeys{[4]string{lock, l.keys.Fence(), keyspace.Marker, wanted}, [2]string{lock, wanted}}
	}
	return l.nodeKeys
}

// send notes a request to one node; see core.send.
func (q *quorum) send(n *node, s *driver.Script, l *line, t *tenure, now clock.Instant, args []string, answered func(*request, wire.Answer, error, clock.Instant)) *request {
	keys := l.onNodes().lock[:3]
	switch s {
	case script.QuorumLock:
		keys = l.nodeKeys.lock[:]
	case script.QuorumRaise:
		keys = keys[:2]
	case script.QuorumUnlock:
		keys = l.nodeKeys.leave[:]
	}
	r := &request{
		call: driver.Call{Script: s, Keys: keys, Args: args}, line: l, tenure: t, node: n,
		sent: now, attempt: q.c.options.attempt(), answered: answered,
	}
	if n.inflight == 0 {
		n.spoke = max(n.spoke, now) // it owes nothing from before
	}
	if n.inflight++; n.inflight > crowd && now.Sub(n.spoke) > n.patience(&q.c.options) {
		n.silent.Store(true)
	}
	q.c.outbox = append(q.c.outbox, r)
	return r
}

// busy reports whether so many nodes owe answers that the rest is no majority, or some
// do that have been waited for less than their patience.
func (q *quorum) busy(waited time.Duration) int {
	quiet, slow := 0, 0
	for _, n := range q.nodes {
		switch {
		case n.inflight == 0:
			quiet++
		case !n.silent.Load() && waited < n.patience(&q.c.options):
			slow++
		}
	}
	return max(slow, q.need-quiet)
}

// undo takes an id off all nodes, in the background, until it has expired; held: the name
// was ours by it. What it returns is closed when that has ended on a majority: done, or
// refused for good.
func (q *quorum) undo(id string, l *line, held bool, now, until clock.Instant) <-chan struct{} {
	until = min(until, now.Add(l.ttl())) // there is no Q in which it could stand longer
	u := &undoing{open: q.need, done: make(chan struct{})}
	args := []string{id}
	if held {
		args = q.unlockArgs(id)
	}
	for _, n := range q.nodes {
		q.unlockOn(n, args, l, now, until).of = u
	}
	return u.done
}

// undoOn takes an id that was not the holder's off one node.
func (q *quorum) undoOn(n *node, id string, l *line, now, until clock.Instant) {
	q.unlockOn(n, []string{id}, l, now, until)
}

func (q *quorum) unlockOn(n *node, args []string, l *line, now, until clock.Instant) *errand {
	return q.c.begin(&errand{call: driver.Call{Script: script.QuorumUnlock, Keys: l.onNodes().leave[:], Args: args}, line: l, node: n, until: until}, now)
}

// ghost is core.ghost for one node: others need not have it.
func (q *quorum) ghost(n *node, id string, now clock.Instant) {
	l := q.c.lineOf(id)
	if l == nil || n.ghosts[id] {
		return
	}
	if n.ghosts == nil {
		n.ghosts = map[string]bool{}
	}
	n.ghosts[id] = true
	q.undoOn(n, id, l, now, now.Add(l.ttl()))
}
