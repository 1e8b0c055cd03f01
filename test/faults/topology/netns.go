//go:build linux

package topology

import (
	"fmt"
	"net"

	"github.com/holdfast-go/holdfast/test/faults/netns"
)

// Netns reports whether clients are in network namespaces of their own.
func (k Kind) Netns() bool { return k == Netns || k == NetnsQuorum }

// Can says why there can't be such a topology on this machine; nil: there can.
func (k Kind) Can() error {
	if k.Netns() {
		return netns.Allowed()
	}
	return nil
}

// listen is the configuration of a server: where clients in namespaces reach it,
// and loopback. (Only this machine's namespaces have a route to it.)
func (p *Topology) listen(server int) []string {
	if p.Network == nil {
		return nil
	}
	return []string{fmt.Sprintf("bind 127.0.0.1 %v", p.Network.Server(server)), "protected-mode no"}
}

// line makes a way from a namespace.
func (p *Topology) line() (w Way, err error) {
	if w.Line, err = p.Network.Line(); err != nil {
		return Way{}, err
	}
	for i, s := range p.Servers {
		_, port, err := net.SplitHostPort(s.Addr())
		if err != nil {
			w.Close()
			return Way{}, err
		}
		w.URLs = append(w.URLs, "redis://"+net.JoinHostPort(p.Network.Server(i).String(), port))
	}
	return w, nil
}

// Namespace is the path of the network namespace that a client by this way is to
// be in; empty: that of the test.
func (w Way) Namespace() string {
	if w.Line == nil {
		return ""
	}
	return w.Line.Path()
}

// hangUp ends connections of clients whose machine was lost: nobody else does.
func (p *Topology) hangUp() error {
	if p.Network == nil {
		return nil
	}
	for _, s := range p.Servers {
		for _, kind := range []string{"normal", "pubsub"} {
			if _, err := s.Do("CLIENT", "KILL", "TYPE", kind); err != nil {
				return err
			}
		}
	}
	return nil
}
