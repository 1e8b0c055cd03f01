package rueidisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/rueidis"
)

// wire is a connection in subscribed state.
type wire struct {
	receiver *driver.Receiver
	sharded  bool
	node     rueidis.Client

	mu     sync.Mutex // protects the rest
	conn   rueidis.DedicatedClient
	closed bool
}

// Request is of driver.ChannelConn. rueidis dials without looking at a context, and waits
// for the answer, so a goroutine does it.
func (w *wire) Request(channel string, end bool, answered func(error)) {
	go func() {
		err := w.request(channel, end)
		if _, refused := errors.AsType[driver.ServerError](err); err != nil && !refused {
			w.receiver.Broken(err)
		}
		answered(err)
	}()
}

// request waits for the server's answer. A subscription that is sent again changes
// nothing and is answered again, on this very connection, which PING is not when the
// server speaks RESP2: there rueidis keeps two.
func (w *wire) request(channel string, end bool) error {
	conn := w.open()
	if conn == nil {
		return errors.New("rueidisstore: the connection is closed")
	}
	_, err := answer(conn.Do(context.Background(), w.command(conn.B(), channel, end)))
	return err
}

func (w *wire) command(b rueidis.Builder, channel string, end bool) rueidis.Completed {
	switch {
	case w.sharded && end:
		return b.Sunsubscribe().Channel(channel).Build()
	case w.sharded:
		return b.Ssubscribe().Channel(channel).Build()
	case end:
		return b.Unsubscribe().Channel(channel).Build()
	}
	return b.Subscribe().Channel(channel).Build()
}

// open takes a connection, the first time, and passes on what arrives there. It returns nil
// after Close.
func (w *wire) open() rueidis.DedicatedClient {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.conn != nil {
		return w.conn
	}
	w.conn, _ = w.node.Dedicate() // given back by Close
	broken := w.conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { w.receiver.Message(m.Channel, m.Message) },
		OnSubscription: func(event rueidis.PubSubSubscription) {
			switch event.Kind {
			case "subscribe", "ssubscribe":
				w.receiver.Confirmed(event.Channel)
			case "unsubscribe", "sunsubscribe": // by the server also unasked: the slot has moved away
				w.receiver.Ended(event.Channel)
			}
		},
	})
	go func() {
		for range broken { // closed, after an error or none, when nothing more will arrive
		}
		w.receiver.Broken(errors.New("rueidisstore: the connection ended"))
	}()
	return w.conn
}

// Close does not wait for the connection's end, which takes rueidis up to a
// second when the server is silent.
func (w *wire) Close() {
	go func() {
		w.mu.Lock()
		conn := w.conn
		w.conn, w.closed = nil, true
		w.mu.Unlock()
		if conn != nil {
			conn.Close()
		}
	}()
}
