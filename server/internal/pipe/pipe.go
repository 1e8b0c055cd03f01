// Package pipe is a network in memory, for tests in simulated time: there only
// what happens inside the program ends a wait.
package pipe

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Listener is a net.Listener whose connections are pipes.
type Listener struct {
	conns chan net.Conn
	over  chan struct{}
	close sync.Once
}

// Listen makes a Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), over: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.over) })
	return nil
}

// Addr implements net.Listener, with an address that a server on loopback has.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420} }

// Dial connects to the Listener, by whatever address.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// Client is an HTTP client of the Listener.
func (l *Listener) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
}

// Serve starts an HTTP server on a Listener. The caller closes both: the client's
// idle connections, then the server.
func Serve(config *http.Server) (*httptest.Server, *http.Client) {
	l := Listen()
	s := &httptest.Server{Listener: l, Config: config}
	s.Start()
	return s, l.Client()
}
