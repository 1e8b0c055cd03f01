package rueidisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/redis/rueidis"
)

// Store implements [driver.Store] with a rueidis client. Make it with [New]
// or [Open].
type Store struct {
	client rueidis.Client
	own    bool // made by Open, closed by Close
	once   bool // no call is sent again that may have run

	channels driver.Channels // the subscriptions
	redial   driver.Redial   // of one server
	pooled   pooled          // of one server
	slots    slots           // of a Cluster
}

var _ driver.Store = (*Store)(nil)
var _ driver.SendsOnce = (*Store)(nil)

// SendsOnce reports whether the client never sends a call again that may have
// run. That is true for a Store that [Open] made for one server or Sentinel,
// unless Adjust set ConnLifetime. It is false for a Store that [New] made. See
// [driver.SendsOnce].
func (s *Store) SendsOnce() bool { return s.once }

// New makes a Store that uses the client of your program. Other code may use
// the client, too. Close it after the Store: Close of the Store does not close
// it. New panics if the client is nil.
//
// With Sentinel or Cluster, set PipelineMultiplex: -1 in the client, as [Open]
// does. Otherwise rueidis has several connections and opens each one when it
// first picks it. A server with no free connection then refuses it, and a
// renewal fails. On one server the Store uses the first connection only.
func New(client rueidis.Client) *Store {
	if client == nil {
		panic("rueidisstore: New needs a client")
	}
	s := &Store{client: client}
	if s.standalone() {
		s.redial.Leave, s.redial.Channels = s.leave, &s.channels
	}
	return s
}

// Options are the settings of [Open]. The zero value works.
type Options struct {
	// Adjust changes the client options that Open took from the URL. Use it for
	// credentials that rotate, another dialer, or another name than "holdfast"
	// in CLIENT LIST.
	Adjust func(*rueidis.ClientOption)
}

// Open makes a client from a URL, connects it, and returns a Store that owns
// it. See [ParseURL] for the forms of a URL. It blocks for at most the dial
// timeout of 3 s per address. Nil options mean the defaults. Close the Store.
func Open(url string, options *Options) (*Store, error) {
	option, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if options != nil && options.Adjust != nil {
		options.Adjust(&option)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil { // rueidis can return both
			client.Close()
		}
		if said, ok := rueidis.IsRedisErr(err); ok {
			err = driver.ServerError(said.Error())
		}
		return nil, fmt.Errorf("rueidisstore: cannot connect to %s: %w", strings.Join(option.InitAddress, ", "), err)
	}
	if strings.HasPrefix(url, "cluster") && client.Mode() != rueidis.ClientModeCluster {
		client.Close()
		return nil, errors.New("rueidisstore: the server is not part of a cluster: use redis:// for a single server")
	}
	s := New(client)
	s.own = true
	s.once = client.Mode() != rueidis.ClientModeCluster && option.ConnLifetime == 0
	return s, nil
}

// Close ends the subscriptions, and the client if [Open] made it. Further calls
// do nothing.
func (s *Store) Close() error {
	first := s.channels.Close() // rueidis leaves dedicated connections alone
	if s.own && first {
		s.client.Close()
	}
	return nil
}

// Sharded reports whether the client talks to a cluster.
func (s *Store) Sharded() bool { return s.client.Mode() == rueidis.ClientModeCluster }

// Subscribe subscribes to one channel. In a Cluster the channels of one node
// share a connection; elsewhere each has its own. See [driver.Store].
//
// It does not use Receive of rueidis, which subscribes again by itself when a
// connection breaks. Messages in between would be lost unnoticed.
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	node, addr := s.home(ctx, channel)
	server := ""
	if s.Sharded() {
		server = addr
	}
	sub, err := s.listen(ctx, server, node, channel, message)
	if node, addr := s.moved(err); node != nil { // the slot map is a little behind
		sub, err = s.listen(ctx, addr, node, channel, message)
	}
	if err != nil {
		return nil, err
	}
	if addr != "" && !s.Sharded() {
		go s.follow(sub, addr)
	}
	return sub, nil
}

// listen makes one try.
func (s *Store) listen(ctx context.Context, server string, node rueidis.Client, channel string, message func(string)) (driver.Subscription, error) {
	dial := func(receiver *driver.Receiver) driver.ChannelConn {
		return &wire{receiver: receiver, sharded: s.Sharded(), node: node}
	}
	return s.channels.Subscribe(ctx, server, dial, channel, message)
}

// moved returns the node that a MOVED error names, if we know it.
func (s *Store) moved(err error) (rueidis.Client, string) {
	addr, asking, ok := driver.Redirected(err)
	if !ok || asking {
		return nil, ""
	}
	s.slots.forget()
	return s.client.Nodes()[addr], addr
}

// home returns the client for the server where a channel lives, and the address of that server.
// If the address is not known, it is empty, and rueidis finds the server itself.
func (s *Store) home(ctx context.Context, channel string) (node rueidis.Client, addr string) {
	if !s.Sharded() {
		return s.master()
	}
	at := int64(keyspace.Slot(channel))
	for _, r := range s.slots.current(ctx, s.client) {
		if r.from <= at && at <= r.to {
			if node := s.client.Nodes()[r.master]; node != nil {
				return node, r.master
			}
		}
	}
	return s.client, ""
}

// checkEvery is how often a subscription checks where the master is. The check reads the memory
// of the client and takes a microsecond.
const checkEvery = 100 * time.Millisecond

// master returns the client for a subscription and, with Sentinel, the address of its master. A
// client with SendToReplicas has two nodes and does not say which is the master, but a
// dedicated connection goes there.
func (s *Store) master() (client rueidis.Client, addr string) {
	if s.client.Mode() == rueidis.ClientModeSentinel {
		if nodes := s.client.Nodes(); len(nodes) == 1 {
			for addr, node := range nodes {
				return node, addr
			}
		}
	}
	return s.client, ""
}

// follow ends a subscription when Sentinel has made another server the master. The connection
// to a frozen master does not end by itself, and nobody publishes there any more.
func (s *Store) follow(sub driver.Subscription, addr string) {
	look := time.NewTicker(checkEvery)
	defer look.Stop()
	for {
		select {
		case <-sub.Done():
			return
		case <-look.C:
		}
		if _, now := s.master(); now != addr {
			sub.Close()
			return
		}
	}
}

// Scan yields the keys that match, from every master. See [driver.Store].
func (s *Store) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if !s.Sharded() {
			scan(ctx, s.client, match, yield)
			return
		}
		for _, node := range s.client.Nodes() {
			if replica(ctx, node) {
				continue
			}
			if !scan(ctx, node, match, yield) {
				return
			}
		}
	}
}
