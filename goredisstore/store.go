package goredisstore

import (
	"context"
	"iter"
	"net"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Store implements [driver.Store] with a go-redis client. Make it with [New]
// or [Open].
type Store struct {
	client   Client
	single   single       // the same client, if it has these methods;
	cluster  cluster      // else it has these
	end      func() error // closes a client that Open made; nil otherwise
	punctual bool         // the client obeys deadlines
	once     bool         // no call is sent again that may have run; set by Open

	channels driver.Channels // the subscriptions
	redial   driver.Redial   // of one server
	advised  sync.Once       // logs that a wrapper hides its connections
}

var _ driver.Store = (*Store)(nil)
var _ driver.SendsOnce = (*Store)(nil)

// SendsOnce reports whether the client never sends a call again that may have
// run. That is true for a Store that [Open] made for one server or Sentinel,
// unless Adjust set MaxRetries. It is false for a Store that [New] made. See
// [driver.SendsOnce].
func (s *Store) SendsOnce() bool { return s.once }

// Client is what [New] needs of a go-redis client. New also needs the methods
// that say how to connect:
//
//   - one server or Sentinel: Options() *redis.Options
//   - Cluster: Options() *redis.ClusterOptions, and MasterForKey, ForEachMaster
//     and ReloadState of *redis.ClusterClient
//
// A *redis.Client and a *redis.ClusterClient have them.
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

// New makes a Store that uses the client of your program. The package comment
// lists the settings that the client needs. Other code may use the client, too.
// Close it after the Store: Close of the Store does not close it. The client is
// a *redis.Client, a *redis.ClusterClient, or a type that embeds one of them. It
// may be in a variable of type redis.UniversalClient.
//
// A wrapper that embeds redis.UniversalClient hides the methods that [Client]
// lists. Pass the client inside it, New(w.UniversalClient): the wrapper then sees
// nothing of holdfast. Or add the methods to the wrapper, for example
//
//	func (m Measured) Options() *redis.Options { return m.client.Options() }
//
// If the address of the server can move to another one, add PoolStats, too: see
// the package comment.
//
// New panics if Options is missing: the Store could not subscribe, so a waiter
// would have no place in the queue. New panics for a *redis.Ring. A Ring moves
// a name to another server when one is down, so two clients could hold it.
// Never hide a Ring or a ClusterClient behind an Options method that returns a
// *redis.Options.
//
// A wrapper sees single scripts in Process. It sees scripts that are sent
// together, or with WAIT, in Pipeline. In a Cluster, WAIT and SCAN go to the
// *redis.Client of a node and bypass the wrapper. Subscriptions always bypass
// the client: the Store makes their connections from its Options.
func New(client Client) *Store {
	s := &Store{client: client}
	switch client := client.(type) {
	case single:
		s.single, s.punctual = client, client.Options().ContextTimeoutEnabled
	case cluster:
		s.cluster, s.punctual = client, client.Options().ContextTimeoutEnabled
	default:
		panic("goredisstore: New needs a *redis.Client or a *redis.ClusterClient, or a wrapper with their Options method: see goredisstore.Client; for a wrapper w that embeds redis.UniversalClient, call New(w.UniversalClient)")
	}
	if s.single != nil && !behindSentinel(s.single) {
		s.redial.Leave, s.redial.Channels = s.leave, &s.channels
	}
	return s
}

// Close ends the subscriptions, and the client if [Open] made it. Further calls
// do nothing.
func (s *Store) Close() error {
	first := s.channels.Close() // its connections are no part of the client
	if s.end != nil && first {
		return s.end()
	}
	return nil
}

// Sharded reports whether the client talks to a cluster.
func (s *Store) Sharded() bool { return s.cluster != nil }

// Subscribe subscribes to one channel. In a Cluster the channels of one node
// share a connection; elsewhere each has its own. See [driver.Store].
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	node, err := bounded(ctx, func() (redis.Options, error) { return s.home(ctx, channel) })
	if err != nil {
		return nil, refusal(err)
	}
	sub, err := s.listen(ctx, node, channel, message)
	if addr := moved(err, node.Addr); addr != "" { // the slot map is a little behind
		node.Addr = addr
		sub, err = s.listen(ctx, node, channel, message)
	}
	if err != nil {
		if s.Sharded() {
			s.cluster.ReloadState(ctx) // in the background: the master may be another now
		}
		return nil, err
	}
	return sub, nil
}

// listen makes one try.
func (s *Store) listen(ctx context.Context, node redis.Options, channel string, message func(string)) (driver.Subscription, error) {
	server := ""
	if s.Sharded() {
		server = node.Addr
	}
	dial := func(receiver *driver.Receiver) driver.ChannelConn { return newWire(node, s.Sharded(), receiver) }
	return s.channels.Subscribe(ctx, server, dial, channel, message)
}

// home returns the client options for the server where a channel lives, without those that a
// subscription does not need.
func (s *Store) home(ctx context.Context, channel string) (redis.Options, error) {
	var options redis.Options
	if s.Sharded() {
		node, err := s.cluster.MasterForKey(ctx, channel)
		if err != nil {
			return options, err
		}
		options = *node.Options()
	} else {
		options = *s.single.Options()
	}
	options.PoolSize, options.PipelinePoolSize, options.MinIdleConns = 1, -1, 0
	options.Limiter, options.ClientSideCache, options.ClientSideCacheConfig = nil, nil, nil
	options.PushNotificationProcessor = nil
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return options, nil
}

// moved returns the address in a MOVED error, or "". If the address has no host, the host is
// that of from, which sent the error.
func moved(err error, from string) string {
	addr, asking, ok := driver.Redirected(err)
	if !ok || asking {
		return ""
	}
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		host, _, _ := net.SplitHostPort(from)
		return net.JoinHostPort(host, port)
	}
	return addr
}

// Scan yields the keys that match, from every master. See [driver.Store].
func (s *Store) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		nodes, err := s.masters(ctx)
		if err != nil {
			yield("", err)
			return
		}
		for _, node := range nodes {
			if !scan(ctx, node, match, yield) {
				return
			}
		}
	}
}

func (s *Store) masters(ctx context.Context) ([]Client, error) {
	if !s.Sharded() {
		return []Client{s.client}, nil
	}
	return ask(ctx, func(ctx context.Context) (nodes []Client, err error) {
		var mu sync.Mutex // protects nodes
		err = s.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, node)
			return nil
		})
		return nodes, err
	})
}
