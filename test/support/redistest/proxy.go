package redistest

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on loopback in front of a server: a network that can be
// slow, silent or cut. What it holds back it delivers when it is told to Pass
// again, as TCP does when a partition heals, and loses when it is told to Cut.
// A lost answer is therefore HoldReplies, the request, Cut, Pass.
type Proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu      sync.Mutex // protects what follows
	mode    mode
	changed chan struct{} // closed and replaced when mode changes
	delay   time.Duration
	doomed  int // the answer from now on that is lost, see LoseReply; 0: none
	conns   map[*link]struct{}
	closed  bool
}

// mode says which direction is held back, or that nobody is let in.
type mode int

const (
	pass mode = iota
	holdReplies
	hold
	refuse
	holdRequests
)

// holds reports whether the direction is held back that modes from this one hold:
// hold stands for requests, holdReplies for answers.
func (m mode) holds(from mode) bool {
	if m == holdRequests {
		return from == hold
	}
	return m >= from
}

// RunProxy starts a proxy to a TCP address. The caller must Close it.
func RunProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redistest: proxy: %w", err)
	}
	return proxyOn(listener, target), nil
}

func proxyOn(listener net.Listener, target string) *Proxy {
	p := &Proxy{
		listener: listener,
		target:   target,
		changed:  make(chan struct{}),
		conns:    map[*link]struct{}{},
	}
	p.wg.Go(p.accept)
	return p
}

// StartProxy runs a proxy for the length of a test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := RunProxy(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr is the host:port to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Pass lets everything through, what was held back first.
func (p *Proxy) Pass() {
	p.mu.Lock()
	for c := range p.conns {
		c.stalled = false
	}
	p.mu.Unlock()
	p.set(pass)
}

// Stall holds back what comes on the connections there are, both ways, and lets
// new ones pass: what was sent before arrives late, behind what was sent after.
func (p *Proxy) Stall() {
	p.mu.Lock()
	for c := range p.conns {
		c.stalled = true
	}
	p.mu.Unlock()
	p.set(pass)
}

// LoseReply loses the n-th answer from now on, whatever connection it comes on,
// and resets that connection, as it must be when bytes are lost. (An answer is
// what one read gives, so a large one can count as two.)
func (p *Proxy) LoseReply(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doomed = n
}

// loses counts an answer, and tells whether it is the one to be lost.
func (p *Proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doomed == 0 {
		return false
	}
	p.doomed--
	return p.doomed == 0
}

// Hold is a black hole: connections stay open and new ones are accepted, but
// nothing arrives on either side.
func (p *Proxy) Hold() { p.set(hold) }

// HoldReplies lets requests through, so the server runs them, and no answer.
func (p *Proxy) HoldReplies() { p.set(holdReplies) }

// HoldRequests lets what the server says through, pushes too, and no request.
func (p *Proxy) HoldRequests() { p.set(holdRequests) }

// Refuse cuts all connections and every new one at once.
func (p *Proxy) Refuse() {
	p.set(refuse)
	p.Cut()
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
}

// Delay makes every byte arrive d later in each direction, so that a round trip
// takes 2d longer; what was read before keeps its old delay.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut resets all connections; what was held back is lost. New connections are
// treated as before.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// Close cuts all connections, stops listening and returns when nothing of the
// proxy runs any more.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close() // it may have been closed before
	p.Cut()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many are open
			time.Sleep(10 * time.Millisecond)
			continue
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

// serve connects one client to the target and pumps until either side ends.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, commandTimeout)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &link{client: client.(*net.TCPConn), server: server.(*net.TCPConn), done: make(chan struct{}), over: make(chan struct{})}
	if p.add(c) {
		var wg sync.WaitGroup
		wg.Go(func() { p.pump(c, c.server, c.client, hold) })
		wg.Go(func() { p.pump(c, c.client, c.server, holdReplies) })
		wg.Wait()
	}
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// add reports whether the connection may live.
func (p *Proxy) add(c *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode == refuse {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

// await blocks while the mode is at least from, and reports whether the
// connection still lives then, on either side.
func (p *Proxy) await(c *link, from mode) bool {
	for {
		p.mu.Lock()
		held, changed := p.mode.holds(from) || c.stalled, p.changed
		p.mu.Unlock()
		if !held {
			return true
		}
		select {
		case <-changed:
		case <-c.done:
			return false
		case <-c.over:
			return false
		}
	}
}
