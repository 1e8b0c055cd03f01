package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// hub is a Store for thousands of Clients in one process, who would else need as
// many subscribed connections: all their channels are subscribed on one. Redis
// sees as many waiters with listeners of their own as there are Clients, and runs
// the same scripts for them. What is missing is the pings of their connections;
// they are counted, and not sent.
type hub struct {
	*rueidisstore.Store
	conn  rueidis.DedicatedClient
	pings atomic.Int64

	mu        sync.Mutex // guards listeners
	listeners map[string]func(payload string)
}

func newHub(addr string) (*hub, error) {
	client, err := newBulkRueidis(addr)
	if err != nil {
		return nil, err
	}
	conn, _ := client.Dedicate()
	h := &hub{Store: rueidisstore.New(client), conn: conn, listeners: map[string]func(string){}}
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: h.hear})
	return h, nil
}

func newBulkRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true, ConnWriteTimeout: time.Minute,
	})
}

func (h *hub) hear(m rueidis.PubSubMessage) {
	h.mu.Lock()
	message := h.listeners[m.Channel]
	h.mu.Unlock()
	if message != nil {
		message(m.Message)
	}
}

// Subscribe listens to one more channel.
func (h *hub) Subscribe(ctx context.Context, channel string, message func(payload string)) (holdfast.Subscription, error) {
	h.mu.Lock()
	h.listeners[channel] = message
	h.mu.Unlock()
	if err := h.conn.Do(ctx, h.conn.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		return nil, err
	}
	return &hubSubscription{hub: h, channel: channel, done: make(chan struct{})}, nil
}

type hubSubscription struct {
	hub     *hub
	channel string
	over    sync.Once
	done    chan struct{}
}

func (s *hubSubscription) Ping(context.Context) error {
	s.hub.pings.Add(1)
	return nil
}

func (s *hubSubscription) Done() <-chan struct{} { return s.done }

func (s *hubSubscription) Close() {
	s.over.Do(func() {
		s.hub.mu.Lock()
		delete(s.hub.listeners, s.channel)
		s.hub.mu.Unlock()
		close(s.done)
	})
}
