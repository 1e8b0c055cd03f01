package bulk

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// hub is a Store for thousands of Clients in one process, who would else need as
// many connections: all of them use one, for their scripts and for their channels.
// Redis sees as many waiters with listeners of their own as there are Clients, and
// runs the same scripts for them. What is missing is the pings of their connections.
type hub struct {
	*rueidisstore.Store
	conn oneConnection

	mu        sync.Mutex // guards listeners
	listeners map[string]func(payload string)
}

func newHub(addr string) (*hub, error) {
	client, err := newRueidis(addr)
	if err != nil {
		return nil, err
	}
	dedicated, _ := client.Dedicate()
	conn := oneConnection{client, dedicated}
	h := &hub{Store: rueidisstore.New(conn), conn: conn, listeners: map[string]func(string){}}
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: h.hear})
	return h, nil
}

// oneConnection is a client whose commands all travel by one connection.
type oneConnection struct {
	rueidis.Client
	dedicated rueidis.DedicatedClient
}

func (c oneConnection) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	return c.dedicated.Do(ctx, command)
}

func (c oneConnection) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	return c.dedicated.DoMulti(ctx, commands...)
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
func (h *hub) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
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

func (s *hubSubscription) Ping(context.Context) error { return nil }

func (s *hubSubscription) Done() <-chan struct{} { return s.done }

func (s *hubSubscription) Close() {
	s.over.Do(func() {
		s.hub.mu.Lock()
		delete(s.hub.listeners, s.channel)
		s.hub.mu.Unlock()
		close(s.done)
	})
}
