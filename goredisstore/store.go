package goredisstore

import (
	"context"
	"sync"

	"github.com/holdfast-go/holdfast"
	"github.com/redis/go-redis/v9"
)

// Store implements holdfast.Store with a go-redis client.
type Store struct {
	client   redis.UniversalClient
	single   single  // the same client, if it is one of these;
	cluster  cluster // else it is one of these
	own      bool    // made by Open, closed by Close
	punctual bool    // the client obeys deadlines

	mu   sync.Mutex                 // guards the rest
	subs map[*subscription]struct{} // open ones; nil after Close
}

var _ holdfast.Store = (*Store)(nil)

// single is what a *redis.Client for one server or Sentinel has and others lack.
type single interface {
	Options() *redis.Options
	Conn() *redis.Conn
}

// cluster is what a *redis.ClusterClient has and others lack.
type cluster interface {
	Options() *redis.ClusterOptions
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, do func(context.Context, *redis.Client) error) error
	ReloadState(ctx context.Context)
}

// New uses a client that stays the caller's: it can be shared with other code,
// and Close does not close it. The client must outlive the store. It is a
// *redis.Client or a *redis.ClusterClient, or embeds one.
func New(client redis.UniversalClient) *Store {
	s := &Store{client: client, subs: map[*subscription]struct{}{}}
	switch client := client.(type) {
	case single:
		s.single, s.punctual = client, client.Options().ContextTimeoutEnabled
	case cluster:
		s.cluster, s.punctual = client, client.Options().ContextTimeoutEnabled
	default:
		panic("goredisstore: New needs a *redis.Client or a *redis.ClusterClient")
	}
	return s
}

// Close ends the subscriptions, and the client if Open made it. It may be called
// more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	subs := s.subs
	s.subs = nil
	s.mu.Unlock()
	if subs == nil {
		return nil
	}
	for sub := range subs {
		sub.Close() // it is no part of the client
	}
	if s.own {
		return s.client.Close()
	}
	return nil
}

// Sharded reports whether the client talks to a cluster.
func (s *Store) Sharded() bool { return s.cluster != nil }
