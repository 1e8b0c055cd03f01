// Package limit bounds what clients can take from a server: connections, and requests
// under way.
package limit

import (
	"container/list"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// silence is how long a client may confirm nothing of what was sent before its connection is broken:
	// its machine is gone, or the way to it. By itself Linux gives up after a quarter of an hour.
	// Until then the lease of a stream would be renewed although its client is gone.
	silence = 20 * time.Second
	// strange is how long a connection may be idle, or answer one request, before it has sent a known token.
	strange = 10 * time.Second
	// stuck is how long a request without a token may take when others need its connection.
	stuck = 5 * time.Second
	// compared is how many connections are looked at for the one to close. All would take too long.
	compared = 64
)

// Listener makes a listener with at most n open connections. A further one closes the one that has
// been idle the longest. Connections that have sent no known token go first, those of the address
// that has the most of them before the rest. No connection is closed while a request with a known
// token is under way on it. Without a known token an address may have a quarter of the connections,
// and a connection is closed after 10 s. The addresses behind a proxy are in X-Forwarded-For. See
// Enter.
func Listener(l net.Listener, n int, proxies []netip.Prefix) net.Listener {
	return &listener{
		Listener: l, max: n, share: max(1, n/4), proxies: proxies, over: make(chan struct{}), changed: make(chan struct{}, 1),
		of: make(map[netip.Addr]int), strangers: list.New(), idle: list.New(),
	}
}

type listener struct {
	net.Listener
	max, share int
	proxies    []netip.Prefix
	over       chan struct{}
	close      sync.Once
	changed    chan struct{} // it may have room now

	mu        sync.Mutex // protects the rest, and the fields of conn
	open      int
	of        map[netip.Addr]int // strangers by address
	strangers *list.List         // connections without a known token, the one that has not changed for the longest first
	idle      *list.List         // idle connections with a known token, in the same order
	sweeping  bool               // a timer runs
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		giveUp(inner, silence)
		c := &conn{Conn: inner, l: l}
		if c.from = addressOf(inner.RemoteAddr()); isOf(l.proxies, c.from) {
			c.from, c.proxied = netip.Addr{}, true
		}
		c.from = network(c.from)
		ok, err := l.admit(c)
		if ok {
			return c, nil
		}
		if _ = inner.Close(); err != nil {
			return nil, err
		}
	}
}

// admit makes room for a connection. It waits while requests are under way on all. It reports false
// if the address of the connection has too many.
func (l *listener) admit(c *conn) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.roomOf(c.from) {
		return false, nil
	}
	for l.open >= l.max && !l.dropOne(netip.Addr{}) {
		l.mu.Unlock()
		wait := time.NewTimer(stuck / 50)
		select {
		case <-l.changed:
		case <-wait.C: // a request may be stuck by now
		case <-l.over:
			l.mu.Lock()
			return false, net.ErrClosed
		}
		wait.Stop()
		l.mu.Lock()
	}
	l.open++
	l.count(c.from, 1)
	return true, nil
}

// roomOf reports whether an address may have one more connection without a known token, and closes
// the one of its own that has been idle the longest for that.
func (l *listener) roomOf(from netip.Addr) bool {
	return !from.IsValid() || l.of[from] < l.share || l.dropOne(from)
}

func (l *listener) count(from netip.Addr, n int) {
	if !from.IsValid() {
		return
	}
	if l.of[from] += n; l.of[from] == 0 {
		delete(l.of, from)
	}
}

// dropOne closes the connection that others need the least: of an address, or of all if that is zero.
// Of the 64 strangers that have been idle the longest, it closes one of the address with the most
// strangers, so that a client that opens many closes its own.
func (l *listener) dropOne(of netip.Addr) bool {
	now := time.Now()
	var least *conn
	for e, n := l.strangers.Front(), 0; e != nil && n < compared; e = e.Next() {
		c := e.Value.(*conn)
		if of.IsValid() && c.from != of || c.busy && now.Sub(c.since) < stuck {
			continue
		}
		n++
		if least == nil || l.of[c.from] > l.of[least.from] {
			least = c
		}
	}
	if least != nil {
		l.drop(least)
		return true
	}
	if e := l.idle.Front(); e != nil && !of.IsValid() {
		l.drop(e.Value.(*conn))
		return true
	}
	return false
}

// drop closes a connection.
func (l *listener) drop(c *conn) {
	l.forget(c)
	_ = c.Conn.Close()
}

// forget takes a connection out of all accounts.
func (l *listener) forget(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	l.open--
	l.unlist(c)
	c.uncount()
	l.signal()
}

func (l *listener) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *listener) unlist(c *conn) {
	if c.place != nil {
		l.strangers.Remove(c.place) // each does nothing with a place in the other
		l.idle.Remove(c.place)
		c.place = nil
	}
}

// list puts a connection where it belongs after a change.
func (l *listener) list(c *conn) {
	l.unlist(c)
	switch c.since = time.Now(); {
	case c.gone:
	case !c.known:
		c.place = l.strangers.PushBack(c)
		if !l.sweeping {
			l.sweeping = true
			time.AfterFunc(strange, l.sweep)
		}
	case !c.busy:
		c.place = l.idle.PushBack(c)
		l.signal()
	}
}

// sweep closes connections whose time for sending a known token is over.
func (l *listener) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.strangers.Front(); e != nil; e = l.strangers.Front() {
		c := e.Value.(*conn)
		if left := strange - time.Since(c.since); left > 0 {
			time.AfterFunc(left, l.sweep)
			return
		}
		l.drop(c)
	}
	l.sweeping = false
}

func (l *listener) Close() error {
	l.close.Do(func() { close(l.over) })
	return l.Listener.Close()
}

func addressOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

func isOf(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// network returns what stands for one client: its address, or the first 64 bits of it in IPv6, where
// a client can choose the rest.
func network(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	n, _ := a.Prefix(64)
	return n.Addr()
}
