//go:build linux

package netns

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Line is a namespace for clients, and its way to the servers. Its methods are for
// one goroutine at a time.
type Line struct {
	network *Network
	number  int // of its address
	space   *space
	rules   []string // in the router
	shaped  bool     // something stands in the way of packets at both its ends
	lossy   bool     // something loses them at the router's
}

// Addr is the client's address.
func (l *Line) Addr() netip.Addr { return l.network.block.addr(firstClient + l.number) }

// Path is that of the namespace, while this process lives and the line is open:
// setns(2) takes it, opened.
func (l *Line) Path() string { return l.space.path() }

// Do runs f in the namespace, on one thread: sockets that f opens on it, and
// processes that f starts, are there.
func (l *Line) Do(f func() error) error { return l.space.do(f) }

// port is the router's end.
func (l *Line) port() string { return fmt.Sprintf("l%d", l.number) }

// whole makes the client's end what it should be, whatever it is.
func (l *Line) whole() []string {
	b := l.network.block
	return []string{
		fmt.Sprintf("addr replace %v peer %v dev eth0", l.Addr(), b.addr(router)),
		"link set eth0 up",
		fmt.Sprintf("route replace %v via %v dev eth0 src %v", netip.PrefixFrom(b.addr(0), 28), b.addr(router), l.Addr()),
	}
}

// Close takes the line away. Servers are told nothing: for them the machine is
// lost.
func (l *Line) Close() {
	_ = l.network.router.ip(append(l.withoutRules(), "link del "+l.port())...) // what is not there need not go
	l.space.close()
	l.network.forget(l)
}

func (l *Line) withoutRules() (lines []string) {
	for _, rule := range l.rules {
		lines = append(lines, "rule del "+rule)
	}
	l.rules = nil
	return lines
}

// dial connects from the namespace, and closes.
func (l *Line) dial(addr string, limit time.Duration) error {
	return l.space.do(func() error {
		conn, err := net.DialTimeout("tcp", addr, limit)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}
