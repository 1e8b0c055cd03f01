package goredisstore

import (
	"context"
	"errors"
	"net"
	"sync"
)

var errEnded = errors.New("goredisstore: the subscription has ended")

// dialer is how go-redis makes connections.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// socket is the one connection of a subscription. A PubSub of go-redis connects
// and subscribes again by itself when its connection breaks, and what is
// published in between is lost without a word: this one can't be dialled twice.
type socket struct {
	dial dialer

	mu     sync.Mutex // protects the rest
	used   bool
	closed bool
	conn   net.Conn
}

// open is a dialer that works once.
func (s *socket) open(ctx context.Context, network, addr string) (net.Conn, error) {
	if !s.first() {
		return nil, errEnded
	}
	conn, err := s.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return nil, errEnded
	}
	s.conn = conn
	return conn, nil
}

func (s *socket) first() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := !s.used && !s.closed
	s.used = true
	return ok
}

// peer is the address of the server.
func (s *socket) peer() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return ""
	}
	return s.conn.RemoteAddr().String()
}

// close ends all reads and writes.
func (s *socket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		_ = s.conn.Close()
	}
}
