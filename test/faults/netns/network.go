//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"
)

// Last bytes of addresses.
const (
	firstServer = 1   // to 15
	router      = 126 // on each of its ends
	firstClient = 129 // to 254
)

// clients is how many addresses there are for them.
const clients = 126

// Network joins servers, which run in this process's own namespace, and clients.
// Its methods may be called from many goroutines.
type Network struct {
	block  block
	router *space

	mu    sync.Mutex // protects the rest
	lines map[int]*Line
	next  int // number of the next line
}

// Open makes a network for so many servers. Close it.
func Open(servers int) (*Network, error) {
	if err := clean(); err != nil {
		return nil, err
	}
	b, err := choose()
	if err != nil {
		return nil, err
	}
	n := &Network{block: b, lines: map[int]*Line{}}
	if n.router, err = newSpace(); err != nil {
		b.free()
		return nil, err
	}
	if err := n.join(servers); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Start is Open for the length of a test.
func Start(t testing.TB, servers int) *Network {
	t.Helper()
	n, err := Open(servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// join joins this machine and the router, which lets vanish what is for a client
// that it does not reach: nobody is told.
func (n *Network) join(servers int) error {
	device, via := n.block.device(), n.block.addr(router)
	all, ours := netip.PrefixFrom(n.block.addr(128), 25), netip.PrefixFrom(n.block.addr(0), 28)
	lines := []string{
		fmt.Sprintf("link add %s type veth peer name host netns %s", device, n.router.path()),
		fmt.Sprintf("addr add %v peer %v dev %s", n.Server(0), via, device),
	}
	for i := 1; i < servers; i++ {
		lines = append(lines, fmt.Sprintf("addr add %v/32 dev %s", n.Server(i), device))
	}
	lines = append(lines,
		fmt.Sprintf("link set %s up", device),
		fmt.Sprintf("route add %v via %v dev %s src %v", all, via, device, n.Server(0)))
	if err := (*space)(nil).ip(lines...); err != nil {
		return err
	}
	err := n.router.ip(
		fmt.Sprintf("addr add %v/32 dev host", via),
		"link set host up",
		fmt.Sprintf("route add %v dev host", ours),
		fmt.Sprintf("route add blackhole %v metric 9999", all))
	if err != nil {
		return err
	}
	return n.router.do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) })
}

// Server is the address of a server, the first is 0.
func (n *Network) Server(i int) netip.Addr { return n.block.addr(firstServer + i) }

// Close takes the network away, with all its lines.
func (n *Network) Close() {
	n.mu.Lock()
	lines := n.lines
	n.lines = nil
	n.mu.Unlock()
	for _, l := range lines {
		l.space.close()
	}
	_ = (*space)(nil).ip("link del " + n.block.device()) // it goes with the router, too, but later
	n.router.close()
	n.block.free()
}

// Line makes a namespace that reaches all servers. Close it.
func (n *Network) Line() (*Line, error) {
	l := &Line{network: n}
	if err := n.number(l); err != nil {
		return nil, err
	}
	var err error
	if l.space, err = newSpace(); err != nil {
		n.forget(l)
		return nil, err
	}
	err = n.router.ip(
		fmt.Sprintf("link add %s type veth peer name eth0 netns %s", l.port(), l.space.path()),
		fmt.Sprintf("addr add %v peer %v dev %s", n.block.addr(router), l.Addr(), l.port()),
		fmt.Sprintf("link set %s up", l.port()))
	if err == nil {
		err = l.space.ip(l.whole()...)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// number gives a line the address that was free for longest.
func (n *Network) number(l *Line) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range clients {
		l.number = n.next
		n.next = (n.next + 1) % clients
		if n.lines[l.number] == nil && n.lines != nil {
			n.lines[l.number] = l
			return nil
		}
	}
	return errors.New("netns: no address is left")
}

func (n *Network) forget(l *Line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.lines, l.number)
}
