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
// it, and [Channels] uses it. Channels holds its mutex during the calls, so the methods must not
// block and must not call the [Receiver]: start a goroutine.
type ChannelConn interface {
	// Request sends SUBSCRIBE of a channel, or UNSUBSCRIBE if end is true; in a Cluster
	// SSUBSCRIBE and SUNSUBSCRIBE. The first Request also connects.
	//
	// Call answered exactly once for each Request, from another goroutine. Its argument is nil
	// if the server has done it, and the [ServerError] if the server refused. Otherwise it is
	// the error that broke the connection. Before answered, call [Receiver.Confirmed] or
	// [Receiver.Ended] if the server has done it, and [Receiver.Broken] if the connection broke.
	Request(channel string, end bool, answered func(error))
	// Close closes the connection. It is called once, perhaps while a Request connects, or
	// without any Request.
	Close()
}

// Channels manages the subscriptions of one [Store]. It keeps what Subscribe of the Store
// promises: no message from before the confirmation, none of an earlier subscription to the same
// channel, and the [Subscription] itself. Subscriptions to one server may share a connection. The
// driver implements [ChannelConn], and tells the [Receiver] of each connection what it reads.
//
// The zero value is ready. Channels is safe for concurrent use.
type Channels struct {
	mu       sync.Mutex // protects all of it, its receivers and their subscriptions
	open     map[string][]*Receiver
	unshared bool // a server refused to unsubscribe: each channel gets a connection that can be closed
	closed   bool
}

// Subscribe subscribes to a channel and returns when the server has confirmed. It is what
// Subscribe of [Store] needs; see there for message.
//
// server is the address of the server, or any other name: subscriptions with the same server
// share a connection. If server is empty, the subscription has a connection of its own. Outside a
// Cluster, both are right.
//
// If no connection fits, Subscribe calls dial. It must neither block nor call its Receiver: the first
// Request connects.
// Subscribe returns the error of a Request as it is, and the error of ctx. If an old connection
// breaks meanwhile, it tries again on a new one.
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
