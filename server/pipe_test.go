package server_test

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// pipes is a net.Listener whose connections are pipes: there only what happens inside the
// program ends a wait, as simulated time wants it.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	close sync.Once
}

func listen() *pipes {
	return &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.close.Do(func() { close(l.over) })
	return nil
}

// Addr is one that a server on loopback has.
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420} }

// dial connects, by any address.
func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// client is an HTTP client of what listens.
func (l *pipes) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: l.dial}}
}
