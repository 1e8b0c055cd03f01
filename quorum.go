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
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// MaxQuorumTTL is the longest TTL on a quorum. A restarted node does not vote for this
// long, because it may have forgotten a vote.
const MaxQuorumTTL = protocol.MaxQuorumTTL // 1 min

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
		n.batcher.timer = c.batcherTimer(&n.batcher)
	}
	// Nothing is pushed: no name waits for a subscription, none is opened.
	c.sub = newSubscriber(c, "")
	c.sub.wanted, c.sub.confirmed, c.sub.confirmedAt = true, true, -clock.Instant(time.Hour)
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

// quorum is how a tenure is won, renewed and ended on several masters. Local
// names, turns, deadlines and the schedule are those of one master; only the requests and
// the nodes that must answer differ. docs/quorum.md has the protocol. Guarded
// by the core's mutex.
type quorum struct {
	c           *core
	id          string
	need        int // a majority
	nodes       []*node
	newestToken int64 // newest token seen

	yields map[string]clock.Instant // by name: until when it is left to a waiter elsewhere
}

// node is one master of a quorum. Guarded by the core's mutex, except the
// atomics.
type node struct {
	number     int
	store      driver.Store
	usualTrip  time.Duration // round trip, lately; 0: not known
	inflight   int           // requests that have not come back
	lastAnswer clock.Instant // when it last answered, or was first asked of what it owes

	batcher  batcher
	staleIDs map[string]bool       // ids that are being ended here, because they were seen
	owed     map[string]*localName // ids of lost ballots that may yet reach it: it was silent

	silent    atomic.Bool  // it did not answer in time: nobody waits for it until it does
	openCalls atomic.Int64 // calls in the driver
}

// maxHanging is how many calls may hang in one driver: then no more are begun.
const maxHanging = 64

var errSilent = errors.New("the node does not answer")

// eval runs a call. A node that hangs must not collect goroutines.
func (n *node) eval(ctx context.Context, call driver.Call) ([]string, error) {
	defer n.openCalls.Add(-1)
	if n.hangs() {
		return nil, errSilent
	}
	return n.store.Eval(ctx, call)
}

// evalAll is eval for calls that travel together.
func (n *node) evalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	defer n.openCalls.Add(-1)
	if n.hangs() {
		return slices.Repeat([]driver.Result{{Err: errSilent}}, len(calls))
	}
	return n.store.EvalAll(ctx, calls)
}

// hangs counts one more call in the driver, and reports whether too many hang there to
// begin it.
func (n *node) hangs() bool { return n.openCalls.Add(1) > maxHanging && n.silent.Load() }

// owes notes an id that may have to be taken off it.
func (n *node) owes(id string, local *localName) {
	if n.owed == nil {
		n.owed = map[string]*localName{}
	}
	n.owed[id] = local
}

// returned notes the result of a request to the node.
func (n *node) returned(r *request, err error, now clock.Instant) {
	n.inflight--
	if _, refused := wire.AsServerError(err); err != nil && !refused {
		n.silent.Store(true)
		return
	}
	n.silent.Store(false)
	n.lastAnswer = now
	took := now.Sub(r.sent)
	if n.usualTrip == 0 {
		n.usualTrip = took
	}
	n.usualTrip += (took - n.usualTrip) / 8
}

// patience is how long a decision waits for the node: a few times its usual
// round trip. Whether a lock is won never depends on it, only when a try is
// given up.
func (n *node) patience(o *Options) time.Duration {
	if n.usualTrip == 0 {
		return min(o.attempt(), 500*time.Millisecond)
	}
	return min(4*n.usualTrip+25*time.Millisecond, o.attempt())
}

// nodeKeys are the keys of a name on each node, as scripts want them.
type nodeKeys struct {
	lock   [4]string // lock, fence, marker and wanted; most scripts take fewer
	unlock [2]string // lock and wanted
}

func (n *localName) onNodes() *nodeKeys {
	if n.nodeKeys == nil {
		lock, wanted := n.keys.Lock(), n.keys.Wanted()
		n.nodeKeys = &nodeKeys{[4]string{lock, n.keys.Fence(), keyspace.Marker, wanted}, [2]string{lock, wanted}}
	}
	return n.nodeKeys
}

// send notes a request to one node; see core.send.
func (q *quorum) send(n *node, s *driver.Script, local *localName, t *tenure, now clock.Instant, args []string, answered func(*request, wire.Answer, error, clock.Instant)) *request {
	keys := local.onNodes().lock[:3]
	switch s {
	case script.QuorumLock:
		keys = local.nodeKeys.lock[:]
	case script.QuorumRaise:
		keys = keys[:2]
	case script.QuorumUnlock:
		keys = local.nodeKeys.unlock[:]
	}
	r := &request{
		call: driver.Call{Script: s, Keys: keys, Args: args}, local: local, tenure: t, node: n,
		sent: now, attempt: q.c.options.attempt(), onAnswer: answered,
	}
	if n.inflight == 0 {
		n.lastAnswer = max(n.lastAnswer, now) // it owes nothing from before
	}
	if n.inflight++; n.inflight > maxHanging && now.Sub(n.lastAnswer) > n.patience(&q.c.options) {
		n.silent.Store(true)
	}
	q.c.outbox = append(q.c.outbox, r)
	return r
}

// awaited is how many answers Close still waits for: until a majority owes none, and each node
// that owes one had its patience.
func (q *quorum) awaited(waited time.Duration) int {
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

// cleanUp takes an id off all nodes, in the background, until it has expired; held: the name
// was ours by it. What it returns is closed when that has ended on a majority: done, or
// refused for good.
func (q *quorum) cleanUp(id string, local *localName, held bool, now, until clock.Instant) <-chan struct{} {
	until = min(until, now.Add(local.ttl())) // there is no queue in which it could stand longer
	u := &cleanupGroup{open: q.need, done: make(chan struct{})}
	args := []string{id}
	if held {
		args = q.unlockArgs(id)
	}
	for _, n := range q.nodes {
		q.unlockOn(n, args, local, now, until).group = u
	}
	return u.done
}

// cleanUpOn takes an id that was not the holder's off one node.
func (q *quorum) cleanUpOn(n *node, id string, local *localName, now, until clock.Instant) {
	q.unlockOn(n, []string{id}, local, now, until)
}

func (q *quorum) unlockOn(n *node, args []string, local *localName, now, until clock.Instant) *cleanup {
	return q.c.startCleanup(&cleanup{call: driver.Call{Script: script.QuorumUnlock, Keys: local.onNodes().unlock[:], Args: args}, local: local, node: n, until: until}, now)
}

// cancelStaleID is core.cancelStaleID for one node: others need not have the id.
func (q *quorum) cancelStaleID(n *node, id string, now clock.Instant) {
	local := q.c.nameOfID(id)
	if local == nil || n.staleIDs[id] {
		return
	}
	if n.staleIDs == nil {
		n.staleIDs = map[string]bool{}
	}
	n.staleIDs[id] = true
	q.cleanUpOn(n, id, local, now, now.Add(local.ttl()))
}
