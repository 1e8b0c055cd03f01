// Package channels lets the subscriptions to one server share a connection. A
// driver says how a connection is made and how a request travels on it. Which
// connection a subscription joins, what it is given, and when a connection ends is
// decided here. See docs/adr/0032-channels-share-a-connection.md.
package channels

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

// Conn is a connection of a driver. Its methods do not block.
type Conn interface {
	// Request subscribes to a channel, or with end lets it go. The first request
	// connects. answered is called once, not from within Request: with nil, with what
	// the server refused, or, after Link.Broken, with the reason why there is no
	// answer. Link.Confirmed or Link.Ended has been called before it.
	Request(channel string, end bool, answered func(error))
	// Close ends the connection.
	Close()
}

// Pool holds the connections of one store. The zero value works.
type Pool struct {
	mu       sync.Mutex // guards the pool, its links and their subscriptions
	links    map[string][]*Link
	unshared bool // a server lets no channel go: each gets a connection that can be closed
	closed   bool
}

// Subscribe listens to a channel of a server. It joins a connection of that server,
// or makes one by dial, which does not block. Where server is empty, it makes one
// for this subscription alone. It returns once the server has confirmed; message
// gets only what was read after that, so it was published after Subscribe was called.
func (p *Pool) Subscribe(ctx context.Context, server string, dial func(*Link) Conn, channel string, message func(payload string)) (*Subscription, error) {
	called := time.Now()
	for {
		l, first, err := p.choose(server, dial, channel)
		if err != nil {
			return nil, err
		}
		sub, err := l.subscribe(ctx, first, channel, message)
		if err == nil || ctx.Err() != nil || !l.tryAgain(err, called) {
			return sub, err
		}
	}
}

// choose finds a connection for a channel and counts the caller among its users.
// first says that the caller is to connect it.
func (p *Pool) choose(server string, dial func(*Link) Conn, channel string) (l *Link, first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	now := time.Now()
	if server != "" && !p.unshared {
		for _, l := range p.links[server] {
			if l.channels[channel] == nil && !l.silent(now) {
				l.users++
				return l, false, nil
			}
		}
		p.makeRoom(server, now)
	}
	l = &Link{pool: p, server: server, began: now, users: 1, channels: map[string]*state{}, ready: make(chan struct{})}
	l.conn = dial(l)
	if p.links == nil {
		p.links = map[string][]*Link{}
	}
	p.links[server] = append(p.links[server], l)
	return l, true, nil
}

// makeRoom ends the silent connection with the fewest users, if there are too many.
func (p *Pool) makeRoom(server string, now time.Time) {
	if len(p.links[server]) < maxConnections {
		return
	}
	var least *Link
	for _, l := range p.links[server] {
		if l.silent(now) && (least == nil || l.users < least.users) {
			least = l
		}
	}
	if least != nil {
		least.end(errSilent)
	}
}

// End ends the connections that leave picks, and their subscriptions.
func (p *Pool) End(leave func(Conn) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, links := range p.links {
		for _, l := range slices.Clone(links) {
			if leave(l.conn) {
				l.end(errEnded)
			}
		}
	}
}

// Close ends all connections. It reports whether it is the first call.
func (p *Pool) Close() bool {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	p.End(func(Conn) bool { return true })
	return first
}
