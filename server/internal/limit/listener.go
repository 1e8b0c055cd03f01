// Package limit bounds what clients can take from a server: connections, and requests
// under way.
package limit

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// silence is how long a client may confirm nothing of what was sent before its connection is broken:
// its machine is gone, or the way to it. By itself Linux gives up after a quarter of an hour.
// Until then the lease of a stream would be renewed although its client is gone.
const silence = 20 * time.Second

// Listener makes a listener with at most n open connections. On Linux a connection
// breaks if its client has acknowledged nothing for 20 s.
func Listener(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, room: make(chan struct{}, n), over: make(chan struct{})}
}

type limited struct {
	net.Listener
	room  chan struct{}
	over  chan struct{}
	close sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	giveUp(c, silence)
	return &counted{Conn: c, gone: sync.OnceFunc(func() { <-l.room })}, nil
}

func (l *limited) Close() error {
	l.close.Do(func() { close(l.over) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	gone   func()
	silent atomic.Bool
}

// Read notes whether the connection broke since the other side confirmed nothing: then it
// has not closed it, and may not know.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) {
		c.silent.Store(true)
	}
	return n, err
}

type connKey struct{}

// WithConn lets a request ask for what became of its connection.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// FellSilent reports whether the connection of a request broke for want of an answer.
func FellSilent(ctx context.Context) bool {
	c, ok := ctx.Value(connKey{}).(*counted)
	return ok && c.silent.Load()
}

// CloseWrite lets net/http end a connection so that its last answer is read.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.gone()
	return err
}
