package driver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// maxConnections is how many connections to one server there are at a time, unless one of
	// its channels has as many subscriptions.
	maxConnections = 3
	// patience is how long a connection may owe an answer without a word before no
	// further subscription joins it.
	patience = 2 * time.Second
)

var (
	errClosed = errors.New("the store is closed")
	errEnded  = errors.New("the subscription has ended")
	errTaken  = errors.New("the channel is in use on this connection")
	errSilent = errors.New("the connection is silent")
)

// ChannelConn is a connection that a driver uses for subscriptions only. The driver implements
// it, and [Channels] uses it. Its methods are called from several goroutines, must not block, and
// must not call a method of the [Receiver] before they return: start a goroutine.
type ChannelConn interface {
	// Request sends SUBSCRIBE of a channel, or UNSUBSCRIBE if end is true; in a Cluster
	// SSUBSCRIBE and SUNSUBSCRIBE. The first Request also connects.
	//
	// answered must be called exactly once for each Request, and after Request has returned:
	// with nil, with the [ServerError] by which the server refused, or, after
	// [Receiver.Broken], with the reason why there is no answer. For a request that
	// succeeded, call [Receiver.Confirmed] or [Receiver.Ended] before it.
	Request(channel string, end bool, answered func(error))
	// Close closes the connection. It is called once, perhaps while a Request connects, or
	// without any Request.
	Close()
}

// Channels are the subscriptions of one [Store]. They do what Subscribe of the Store promises and
// what is easy to get wrong: no message from before the confirmation, none of an earlier
// subscription to the same channel, Ping, Done and Close. The driver gives them connections, see
// [ChannelConn], and tells each [Receiver] what it reads. Subscriptions to one server may share a
// connection.
//
// The zero value is ready. Channels are safe for concurrent use.
type Channels struct {
	mu       sync.Mutex // guards all of it, its receivers and their subscriptions
	open     map[string][]*Receiver
	unshared bool // a server lets no channel go: each gets a connection that can be closed
	closed   bool
}

// Subscribe subscribes to a channel. server is a name of the server for Channels, such as its
// address: subscriptions with the same server share a connection. If server is empty, this
// subscription gets a connection of its own, and the others wait for its message function.
//
// If no connection fits, Subscribe calls dial, which must not block: the first Request of the
// connection connects. Subscribe returns when the server has confirmed the channel. It returns
// the error of a Request as it is, and the error of ctx. It may try again on a new connection if
// an old one broke meanwhile. message gets only what was read after the confirmation, see
// Subscribe of [Store].
func (c *Channels) Subscribe(ctx context.Context, server string, dial func(*Receiver) ChannelConn, channel string, message func(payload string)) (Subscription, error) {
	called := time.Now()
	for {
		r, first, err := c.choose(server, dial, channel)
		if err != nil {
			return nil, err
		}
		sub, err := r.subscribe(ctx, first, channel, message)
		switch {
		case err == nil:
			return sub, nil
		case ctx.Err() != nil || !r.tryAgain(err, called):
			return nil, err
		}
	}
}

// choose finds a connection for a channel and counts the caller among its users.
// first says that the caller is to connect it.
func (c *Channels) choose(server string, dial func(*Receiver) ChannelConn, channel string) (r *Receiver, first bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, errClosed
	}
	now := time.Now()
	if server != "" && !c.unshared {
		for _, r := range c.open[server] {
			if r.states[channel] == nil && !r.silent(now) {
				r.users++
				return r, false, nil
			}
		}
		c.makeRoom(server, now)
	}
	r = &Receiver{channels: c, server: server, began: now, users: 1, states: map[string]*channelState{}, ready: make(chan struct{})}
	r.conn = dial(r)
	if c.open == nil {
		c.open = map[string][]*Receiver{}
	}
	c.open[server] = append(c.open[server], r)
	return r, true, nil
}

// makeRoom ends the silent connection with the fewest users, if there are too many.
func (c *Channels) makeRoom(server string, now time.Time) {
	if len(c.open[server]) < maxConnections {
		return
	}
	var least *Receiver
	for _, r := range c.open[server] {
		if r.silent(now) && (least == nil || r.users < least.users) {
			least = r
		}
	}
	if least != nil {
		least.end(errSilent)
	}
}

// End closes the connections for which leave returns true, and ends their subscriptions. A driver
// calls it when it learns that the master has changed: the connection to a frozen master does not
// break by itself. leave must not block.
func (c *Channels) End(leave func(ChannelConn) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, receivers := range c.open {
		for _, r := range slices.Clone(receivers) {
			if leave(r.conn) {
				r.end(errEnded)
			}
		}
	}
}

// Close closes all connections and ends all subscriptions. After it Subscribe returns an error.
// first reports whether it is the first call, so that a Store closes its client once.
func (c *Channels) Close() (first bool) {
	c.mu.Lock()
	first = !c.closed
	c.closed = true
	c.mu.Unlock()
	c.End(func(ChannelConn) bool { return true })
	return first
}
