package limit

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// conn is a connection of a listener. A connection that no http.Server has taken by WithConn has no
// place in a list, and is never closed for others.
type conn struct {
	net.Conn
	l      *listener
	silent atomic.Bool

	// Protected by the lock of the listener.
	from     netip.Addr // of the client; zero: it is not counted
	proxied  bool       // it is a proxy's
	known    bool       // a known token came by it; a proxy's counts as unknown while another's request is under way
	vouched  bool       // a known token came by it once
	requests int        // that handlers serve
	active   bool       // net/http reads a request, or writes an answer
	busy     bool       // a request is under way
	gone     bool
	since    time.Time // when it, or a request, last began or ended
	place    *list.Element
}

type connKey struct{}

// WithConn is for http.Server.ConnContext: requests can ask for their connection.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	ours := connOf(c)
	if ours == nil {
		return ctx
	}
	ours.l.mu.Lock()
	defer ours.l.mu.Unlock()
	ours.l.list(ours)
	return context.WithValue(ctx, connKey{}, ours)
}

func connOf(c net.Conn) *conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	ours, _ := c.(*conn)
	return ours
}

// NoteState is for http.Server.ConnState: a request ends when its answer is written, which is after
// its handler.
func NoteState(c net.Conn, state http.ConnState) {
	ours := connOf(c)
	if ours == nil || state != http.StateActive && state != http.StateIdle {
		return
	}
	ours.l.mu.Lock()
	defer ours.l.mu.Unlock()
	ours.active = state == http.StateActive
	known := ours.known
	if ours.vouched && !ours.active && ours.requests == 0 {
		ours.uncount()
		known = true
	}
	ours.note(known)
}

// note brings busy up to date.
func (c *conn) note(known bool) {
	was := c.busy
	c.busy = c.requests > 0 || c.active && (was || known)
	if was != c.busy || known != c.known {
		c.known = known
		c.l.list(c)
	}
}

// Enter notes that a request is under way. known reports whether its sender is. The error says why
// the request must not be served: its connection is closed, or its address has too many.
func Enter(r *http.Request, known bool) (leave func(), err error) {
	c, _ := r.Context().Value(connKey{}).(*conn)
	if c == nil {
		return func() {}, nil
	}
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.gone:
		return nil, reply.NewProblem("busy", "the connection was idle, and is closed for others")
	case c.known && (known || !c.proxied || c.requests > 0):
		known = true
	case known:
		c.uncount()
		c.vouched = true
	case c.proxied:
		if from := network(parse(r.RemoteAddr)); from != c.from {
			c.uncount()
			if !l.roomOf(from) {
				c.note(false)
				return nil, reply.NewProblem("busy", "too many requests without a token from this address")
			}
			c.from = from
			l.count(from, 1)
		}
	}
	c.requests++
	c.note(known)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.requests--
		c.note(c.known)
	}, nil
}

// uncount takes the connection from the count of its address.
func (c *conn) uncount() {
	c.l.count(c.from, -1)
	c.from = netip.Addr{}
}

// Forwarded returns the address of the client of a request, host:port. If the request came from one
// of the proxies, that is the last address in X-Forwarded-For that is no proxy.
func Forwarded(r *http.Request, proxies []netip.Prefix) string {
	from := r.RemoteAddr
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(hops) > 0 && isOf(proxies, parse(from)) {
		hop := parse(strings.TrimSpace(hops[len(hops)-1]))
		if !hop.IsValid() {
			break
		}
		from, hops = netip.AddrPortFrom(hop, 0).String(), hops[:len(hops)-1]
	}
	return from
}

// parse reads an address with or without a port; zero: it is none.
func parse(text string) netip.Addr {
	if both, err := netip.ParseAddrPort(text); err == nil {
		return both.Addr().Unmap().WithZone("")
	}
	a, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone("")
}

// Read notes whether the connection broke since the other side confirmed nothing: then it
// has not closed it, and may not know.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) {
		c.silent.Store(true)
	}
	return n, err
}

// FellSilent reports whether the connection of a request broke for want of an answer.
func FellSilent(ctx context.Context) bool {
	c, ok := ctx.Value(connKey{}).(*conn)
	return ok && c.silent.Load()
}

// CloseWrite lets net/http end a connection so that its last answer is read.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Close() error {
	c.l.mu.Lock()
	c.l.forget(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}
