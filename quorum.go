package holdfast

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// QuorumClient locks names on a majority of independent masters. It is safe for
// concurrent use. It has only what a quorum can do: see [NewQuorum].
type QuorumClient struct {
	client *Client
	id     string
	stores []driver.Store
}

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
	if err := validateQuorum(id, v.TTL, len(stores)); err != nil {
		panic("holdfast: NewQuorum: " + err.Error())
	}
	for i, store := range stores {
		if store == nil || store.Sharded() {
			panic(fmt.Sprintf("holdfast: NewQuorum: store %d is nil or a Redis Cluster: a node of a quorum is one master", i+1))
		}
	}
	stores = slices.Clone(stores)
	client := newClient(v, nil, func(s engine.Settings) *engine.Engine { return engine.NewQuorum(s, id, stores) })
	front := &QuorumClient{client: client, id: id, stores: stores}
	client.front = front
	return front
}

func validateQuorum(id string, ttl time.Duration, n int) error {
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
func (q *QuorumClient) Quorum() string { return q.id }

// ID returns the hash that identifies this client, like [Client.ID]. It is not the
// quorum-id: see [QuorumClient.Quorum].
func (q *QuorumClient) ID() string { return q.client.ID() }

// TTL is like [Client.TTL].
func (q *QuorumClient) TTL() time.Duration { return q.client.TTL() }

// Prefix is like [Client.Prefix].
func (q *QuorumClient) Prefix() string { return q.client.Prefix() }

// Stores returns the stores that NewQuorum got.
func (q *QuorumClient) Stores() []driver.Store { return slices.Clone(q.stores) }

// Close ends the client, see [Client.Close].
func (q *QuorumClient) Close() error { return q.client.Close() }
