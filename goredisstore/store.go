package goredisstore

import (
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/channels"
	"github.com/redis/go-redis/v9"
)

// Store implements holdfast.Store with a go-redis client.
type Store struct {
	client   Client
	single   single       // the same client, if it has these methods;
	cluster  cluster      // else it has these
	end      func() error // closes a client that Open made; nil otherwise
	punctual bool         // the client obeys deadlines
	once     bool         // no call is sent again that may have run; set by Open

	pool channels.Pool // the subscriptions
}

var _ holdfast.Store = (*Store)(nil)
var _ holdfast.SendsOnce = (*Store)(nil)

// SendsOnce reports whether no call is sent again that may have run: that is so of what
// Open made for one server or Sentinel, unless Adjust has set MaxRetries. See
// holdfast.SendsOnce.
func (s *Store) SendsOnce() bool { return s.once }

// Client is what New asks of every client. Beside it New needs the methods that tell how
// to connect:
//
//   - one server or Sentinel: Options() *redis.Options
//   - Cluster: Options() *redis.ClusterOptions, and MasterForKey, ForEachMaster and
//     ReloadState as *redis.ClusterClient has them
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// single is what a *redis.Client for one server or Sentinel has and others lack.
type single interface {
	Options() *redis.Options
	Pipeline() redis.Pipeliner
}

// cluster is what a *redis.ClusterClient has and others lack.
type cluster interface {
	Options() *redis.ClusterOptions
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, do func(context.Context, *redis.Client) error) error
	ReloadState(ctx context.Context)
}

// New uses a client that stays the caller's: it can be shared with other code,
// and Close does not close it. The client must outlive the store. A *redis.Client and
// a *redis.ClusterClient will do, and so does what embeds one.
//
// A wrapper that embeds redis.UniversalClient hides the methods that Client names
// beside its own: give it them, as in
//
//	func (m Measured) Options() *redis.Options { return m.client.Options() }
//
// New panics if they are missing, since the store could not subscribe: a waiter would have
// no place in the queue. It panics for a *redis.Ring, which moves a name to another
// server when one is down, so that two could hold it. Never hide a Ring or a
// ClusterClient behind an Options that returns a *redis.Options.
//
// A wrapper sees scripts by Process, and those that go out together, or with WAIT, by Pipeline.
// In a Cluster, WAIT and SCAN go to the *redis.Client of a node, past the wrapper. Subscriptions
// never pass the client: their connections are made from its Options.
func New(client Client) *Store {
	s := &Store{client: client}
	switch client := client.(type) {
	case single:
		s.single, s.punctual = client, client.Options().ContextTimeoutEnabled
	case cluster:
		s.cluster, s.punctual = client, client.Options().ContextTimeoutEnabled
	default:
		panic("goredisstore: New needs a *redis.Client or a *redis.ClusterClient, or what has their Options: see goredisstore.Client")
	}
	return s
}

// Close ends the subscriptions, and the client if Open made it. It may be called
// more than once.
func (s *Store) Close() error {
	first := s.pool.Close() // its connections are no part of the client
	if s.end != nil && first {
		return s.end()
	}
	return nil
}

// Sharded reports whether the client talks to a cluster.
func (s *Store) Sharded() bool { return s.cluster != nil }
