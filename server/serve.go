package server

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// NewServer makes an http.Server with the limits that an open port needs: a client
// that sends or reads slowly does not keep a connection for ever. Streams have
// limits of their own.
func NewServer(a *API) *http.Server {
	return &http.Server{
		Handler:           a,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second, // of what nobody reads; who waits has read its body, and no timeout after that
		WriteTimeout:      a.options.MaxWait + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// Limit makes a listener that has at most n connections at a time; others wait in the system's queue.
func Limit(l net.Listener, n int) net.Listener {
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
	return &counted{Conn: c, gone: sync.OnceFunc(func() { <-l.room })}, nil
}

func (l *limited) Close() error {
	l.close.Do(func() { close(l.over) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	gone func()
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.gone()
	return err
}

// Loopback tells whether only this machine can reach an address, host:port.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
