package goredisstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
)

// wire is a connection in subscribed state.
type wire struct {
	receiver *driver.Receiver
	sharded  bool
	socket   *socket
	client   *redis.Client // says hello on the socket, and does nothing else
	pubsub   *redis.PubSub

	mu      sync.Mutex // protects the rest
	queue   []request  // not written yet
	writing bool       // a goroutine writes them
	reading bool
	sent    []request // not answered yet, the oldest first
	err     error     // why nothing is answered any more
}

type request struct {
	channel  string
	end      bool
	answered func(error)
}

// newWire prepares a connection, which the first request makes.
func newWire(node redis.Options, sharded bool, receiver *driver.Receiver) *wire {
	conn := &socket{dial: node.Dialer}
	node.Dialer = conn.open
	client := redis.NewClient(&node)
	return &wire{receiver: receiver, sharded: sharded, socket: conn, client: client, pubsub: client.Subscribe(context.Background())}
}

// Request is of driver.ChannelConn. A subscription that is sent again changes nothing and is
// answered again, in both protocols, and needs no right to PING.
func (w *wire) Request(channel string, end bool, answered func(error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		go answered(w.err)
		return
	}
	w.queue = append(w.queue, request{channel, end, answered})
	if !w.writing {
		w.writing = true
		go w.write()
	}
}

// write sends what is queued, in its order.
func (w *wire) write() {
	for next, ok := w.next(); ok; next, ok = w.next() {
		if err := w.send(next); err != nil {
			w.broken(refusal(err))
			return
		}
		if !w.reading { // only this goroutine looks at it
			w.reading = true
			go w.read()
		}
	}
}

func (w *wire) next() (next request, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.err != nil {
		w.writing, w.queue = false, nil
		return request{}, false
	}
	next, w.queue = w.queue[0], w.queue[1:]
	w.sent = append(w.sent, next)
	return next, true
}

func (w *wire) send(r request) error {
	ctx := context.Background()
	switch {
	case w.sharded && r.end:
		return w.pubsub.SUnsubscribe(ctx, r.channel)
	case w.sharded:
		return w.pubsub.SSubscribe(ctx, r.channel)
	case r.end:
		return w.pubsub.Unsubscribe(ctx, r.channel)
	}
	return w.pubsub.Subscribe(ctx, r.channel)
}

// read ends with the connection, or when the server says what it was not asked for. It
// ends a channel unasked when the slot moves away.
func (w *wire) read() {
	for {
		got, err := w.pubsub.Receive(context.Background())
		if said, ok := errors.AsType[redis.Error](err); ok && w.answered(func(request) bool { return true }, refusal(said)) {
			continue
		}
		if err != nil {
			w.broken(err)
			return
		}
		switch got := got.(type) {
		case *redis.Message:
			w.receiver.Message(got.Channel, got.Payload)
		case *redis.Subscription:
			if !w.expects(got) {
				w.broken(errors.New("goredisstore: the server sent an answer without a request"))
				return
			}
		}
	}
}

// expects reports whether an answer is the next one to come, or unasked as it may be.
func (w *wire) expects(got *redis.Subscription) bool {
	if got.Kind == "subscribe" || got.Kind == "ssubscribe" {
		w.receiver.Confirmed(got.Channel)
		return w.answered(func(r request) bool { return !r.end && r.channel == got.Channel }, nil)
	}
	w.receiver.Ended(got.Channel)
	w.answered(func(r request) bool { return r.end && r.channel == got.Channel }, nil)
	return true
}

// answered passes an answer to the oldest request, if it can be that one's.
func (w *wire) answered(fits func(request) bool, err error) bool {
	w.mu.Lock()
	if len(w.sent) == 0 || !fits(w.sent[0]) {
		w.mu.Unlock()
		return false
	}
	oldest := w.sent[0]
	if w.sent = w.sent[1:]; len(w.sent) == 0 {
		w.sent = nil
	}
	w.mu.Unlock()
	oldest.answered(err)
	return true
}

// broken is the end of it.
func (w *wire) broken(err error) {
	w.receiver.Broken(err)
	w.mu.Lock()
	left := slices.Concat(w.sent, w.queue)
	w.err, w.sent, w.queue = err, nil, nil
	w.mu.Unlock()
	for _, r := range left {
		r.answered(err)
	}
}

// Close does not wait for the connection's end.
func (w *wire) Close() {
	go func() {
		w.socket.close() // first: the others wait for what is being read
		_ = w.pubsub.Close()
		_ = w.client.Close()
	}()
}
