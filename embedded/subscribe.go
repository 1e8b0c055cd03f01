package embedded

import (
	"bufio"
	"context"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// subscription is a peer of miniredis that has subscribed and whose output is
// read here instead of by a socket.
type subscription struct {
	store *Store
	out   *outbox
	peer  *server.Peer
	over  sync.Once
	done  chan struct{}
}

// listen calls message until the subscription is over. It closes it too, for
// the case that it was given up because message took too long.
func (sub *subscription) listen(message func(string)) {
	defer sub.Close()
	r := bufio.NewReader(sub.out)
	for {
		value, err := read(r)
		if err != nil {
			return
		}
		push, ok := value.([]any) // ["message", channel, payload]
		if !ok || len(push) != 3 || push[0] != "message" {
			continue // the confirmation
		}
		if payload, ok := push[2].(string); ok {
			message(payload)
		}
	}
}

// Ping reports whether the subscription is still there. There is no connection
// that could have broken unnoticed.
func (sub *subscription) Ping(ctx context.Context) error {
	select {
	case <-sub.done:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

func (sub *subscription) Done() <-chan struct{} { return sub.done }

func (sub *subscription) Close() {
	sub.store.gate.Lock()
	if _, ok := sub.store.subs[sub]; ok {
		delete(sub.store.subs, sub)
		sub.store.mini.forget(sub.peer)
	}
	sub.store.gate.Unlock()
	sub.end()
}

func (sub *subscription) end() {
	sub.over.Do(func() {
		sub.out.close()
		close(sub.done)
	})
}
