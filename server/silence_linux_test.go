package server_test

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server"
)

// A connection whose client has gone without a word is broken in seconds, and not after the
// quarter of an hour of Linux.
func TestSilentConnectionsBreak(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := &taking{Listener: inner}
	l := server.LimitListener(taken, 1)
	defer l.Close()
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := taken.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const userTimeout = 18
	var got int
	if bad := raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout) }); bad != nil || err != nil {
		t.Fatal(bad, err)
	}
	if want := 20_000; got != want {
		t.Errorf("TCP_USER_TIMEOUT is %d ms, want %d", got, want)
	}
}

// taking keeps the newest connection.
type taking struct {
	net.Listener
	conn net.Conn
}

func (t *taking) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	t.conn = c
	return c, err
}

// silenced is a listener whose connections break as those do whose client confirms nothing.
type silenced struct {
	net.Listener
	mu    sync.Mutex
	conns []*silencedConn
}

type silencedConn struct {
	net.Conn
	broken chan struct{}
}

func (s *silenced) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &silencedConn{c, make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	return conn, nil
}

func (c *silencedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.broken:
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}
	default:
		return n, err
	}
}

// The lease of a stream whose connection broke for want of an answer lasts for as long as its client
// was told: that has not closed it, and may not know.
func TestStreamFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		inner := listen()
		listener := &silenced{Listener: inner}
		web := server.NewServer(w.api)
		go func() { _ = web.Serve(server.LimitListener(listener, 10)) }()
		defer web.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		api := *w
		api.http = inner.client()
		defer api.http.CloseIdleConnections()
		r, err := api.send(ctx, "POST", "/v1/leases/stream", m{"name": "n", "ttl": "2s"})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		soon(t, "it is held", func() bool { return !w.free("n") })
		at := time.Now()
		listener.mu.Lock()
		for _, c := range listener.conns {
			close(c.broken)
			_ = c.SetReadDeadline(time.Now()) // a read that waits
		}
		listener.mu.Unlock()
		soon(t, "the name is free", func() bool { return w.free("n") })
		if lasted, least := time.Since(at), 700*time.Millisecond; lasted < least {
			t.Errorf("free after %v: want what its client was told, %v at least", lasted, least)
		}
	})
}
