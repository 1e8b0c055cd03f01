package mystore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
)

// Subscribe subscribes to one channel. All subscriptions share a connection.
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	connect := func(r *driver.Receiver) driver.ChannelConn {
		return &listener{address: s.client.address, receiver: r}
	}
	return s.channels.Subscribe(ctx, s.client.address, connect, channel, message)
}

// listener is a connection for subscriptions.
type listener struct {
	address  string
	receiver *driver.Receiver

	mu    sync.Mutex // protects the rest
	conn  *conn
	asked []func(error) // requests without an answer, the oldest first
	err   error         // why there will be none
}

// Request is of driver.ChannelConn. It must not block.
func (l *listener) Request(channel string, end bool, answered func(error)) {
	go func() {
		if err := l.send(channel, end, answered); err != nil {
			l.broken(err)
		}
	}()
}

func (l *listener) send(channel string, end bool, answered func(error)) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, answered) // if it is not sent, broken answers it
	if l.err != nil {
		return l.err
	}
	if l.conn == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if l.conn, err = dial(ctx, l.address); err != nil {
			return err
		}
		go l.read(l.conn)
	}
	name := "SUBSCRIBE"
	if end {
		name = "UNSUBSCRIBE"
	}
	return l.conn.write([]string{name, channel})
}

// read passes on what arrives, until the connection breaks.
func (l *listener) read(c *conn) {
	for {
		reply, err := c.read()
		if err != nil {
			l.broken(err)
			return
		}
		if refused, ok := reply.(errorReply); ok {
			l.answer(driver.ServerError(refused))
			continue
		}
		push, _ := reply.([]any) // such as message, channel, payload
		if len(push) != 3 {
			l.broken(fmt.Errorf("mystore: the server sent %v", reply))
			return
		}
		channel, _ := push[1].(string)
		switch push[0] {
		case "message":
			payload, _ := push[2].(string)
			l.receiver.Message(channel, payload)
		case "subscribe":
			l.receiver.Confirmed(channel)
			l.answer(nil)
		case "unsubscribe":
			l.receiver.Ended(channel)
			l.answer(nil)
		}
	}
}

// answer answers the oldest request.
func (l *listener) answer(err error) {
	l.mu.Lock()
	asked := l.asked
	if len(asked) > 0 {
		l.asked = asked[1:]
	}
	l.mu.Unlock()
	if len(asked) > 0 {
		asked[0](err)
	}
}

// broken answers the requests that will get no answer.
func (l *listener) broken(err error) {
	l.receiver.Broken(err)
	l.mu.Lock()
	if l.conn != nil {
		_ = l.conn.Close()
	}
	asked := l.asked
	l.asked, l.err = nil, err
	l.mu.Unlock()
	for _, answered := range asked {
		answered(err)
	}
}

// Close is of driver.ChannelConn. It must not block.
func (l *listener) Close() { go l.broken(errors.New("mystore: the connection is closed")) }
