package rueidisstore

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// over makes the dialer for a network.
func over(network string) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, addr string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
		var conn net.Conn
		var err error
		if secure != nil {
			conn, err = (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, network, addr)
		} else {
			conn, err = dialer.DialContext(ctx, network, addr)
		}
		if err != nil {
			return nil, err
		}
		return &asked{Conn: conn, begun: make(chan struct{})}, nil
	}
}

// asked is a connection that reads nothing before the first write. A server with too many
// clients sends an error before any request. Without asked, rueidis panics if that happens on a
// connection that took longer than its context: it gets an answer although it asked nothing.
type asked struct {
	net.Conn
	once  sync.Once
	begun chan struct{} // closed by the first Write, and by Close
}

func (a *asked) begin() { a.once.Do(func() { close(a.begun) }) }

func (a *asked) Read(b []byte) (int, error) {
	<-a.begun
	return a.Conn.Read(b)
}

func (a *asked) Write(b []byte) (int, error) {
	a.begin()
	return a.Conn.Write(b)
}

func (a *asked) Close() error {
	err := a.Conn.Close()
	a.begin()
	return err
}
