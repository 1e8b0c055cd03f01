package goredisstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// subscription is a connection in subscribed state.
type subscription struct {
	store   *Store
	channel string
	message func(string)
	socket  *socket
	client  *redis.Client // says hello on the socket, and does nothing else
	pubsub  *redis.PubSub
	over    sync.Once
	done    chan struct{}

	mu    sync.Mutex      // guards the rest
	pings []chan struct{} // closed when they are answered, the oldest first
}

// listen makes one try.
func (s *Store) listen(ctx context.Context, node redis.Options, channel string, message func(string)) (*subscription, error) {
	wire := &socket{dial: node.Dialer}
	node.Dialer = wire.open
	client := redis.NewClient(&node)
	sub := &subscription{
		store: s, channel: channel, message: message, socket: wire,
		client: client, pubsub: client.Subscribe(ctx), done: make(chan struct{}),
	}
	stop := context.AfterFunc(ctx, sub.Close)
	err := sub.request(ctx)
	if err == nil {
		_, err = sub.pubsub.Receive(context.Background()) // nothing else can be first
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		sub.Close()
		return nil, refusal(err)
	}
	go sub.receive()
	return sub, nil
}

// request subscribes; the first time it connects. Sent again it changes nothing
// and is answered again, in both protocols, and needs no right to PING.
func (sub *subscription) request(ctx context.Context) error {
	if sub.store.Sharded() {
		return sub.pubsub.SSubscribe(ctx, sub.channel)
	}
	return sub.pubsub.Subscribe(ctx, sub.channel)
}

// receive ends with the connection, or when the server said anything but a
// message or an answer to Ping: a slot that moves away is unsubscribed.
func (sub *subscription) receive() {
	defer sub.Close()
	for {
		got, err := sub.pubsub.Receive(context.Background())
		if err != nil {
			return
		}
		switch got := got.(type) {
		case *redis.Message:
			sub.message(got.Payload)
		case *redis.Subscription:
			if got.Kind != "subscribe" && got.Kind != "ssubscribe" {
				return
			}
			sub.answered()
		}
	}
}

// answered closes the oldest of the pings.
func (sub *subscription) answered() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if len(sub.pings) > 0 {
		close(sub.pings[0])
		sub.pings = sub.pings[1:]
	}
}

// Ping repeats the subscription and waits for the confirmation.
func (sub *subscription) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pong := make(chan struct{})
	sub.mu.Lock()
	sub.pings = append(sub.pings, pong)
	sub.mu.Unlock()
	// A write that ctx cuts short would break the connection.
	if err := sub.request(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("goredisstore: ping: %w", err)
	}
	select {
	case <-pong:
		return nil
	case <-sub.done:
		return errEnded
	case <-ctx.Done():
		return fmt.Errorf("goredisstore: ping: %w", ctx.Err())
	}
}

func (sub *subscription) Done() <-chan struct{} { return sub.done }

// Close does not wait for the connection's end.
func (sub *subscription) Close() {
	sub.over.Do(func() {
		close(sub.done)
		sub.store.remove(sub)
		go func() {
			sub.socket.close() // first: the others wait for what is being read
			_ = sub.pubsub.Close()
			_ = sub.client.Close()
		}()
	})
}
