//go:build linux

package inject

import (
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/netns"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

var (
	namespaces  = []topology.Kind{topology.Netns, topology.NetnsQuorum}
	netnsQuorum = []topology.Kind{topology.NetnsQuorum}
)

// ofNamespaces have the kernel cut clients off: packets vanish, nobody is told,
// and TCP sends them again when it thinks fit. The first row is None there.
var ofNamespaces = []Fault{
	{Name: None.Name, TTL: None.TTL, Strike: None.Strike, Topologies: namespaces},
	{Name: "link-down", Topologies: namespaces, Strike: onLines((*netns.Line).Down)},
	{Name: "interface-off", Topologies: namespaces, Strike: onLines((*netns.Line).Off)},
	{Name: "address-gone", Topologies: namespaces, Strike: onLines((*netns.Line).Nameless)},
	{Name: "requests-vanish", Topologies: namespaces, Strike: onPairs(func(l *netns.Line, s []int) error { return l.Drop(netns.Requests, s...) })},
	{Name: "answers-vanish", Topologies: namespaces, Strike: onPairs(func(l *netns.Line, s []int) error { return l.Drop(netns.Answers, s...) })},
	{Name: "unreachable", Topologies: namespaces, Strike: onPairs(func(l *netns.Line, s []int) error { return l.Refuse(s...) })},
	{Name: "packets-lost", Topologies: namespaces, Needs: netns.Loses, Strike: func(s *Scene) (string, func() error, error) {
		percent := 5 + s.Random.IntN(30)
		return onLines(func(l *netns.Line) error { return l.Lose(percent) })(s)
	}},
	{Name: "line-narrow", Topologies: namespaces, Needs: netns.Narrows, Strike: func(s *Scene) (string, func() error, error) {
		kbit := 32 << s.Random.IntN(5)
		return onLines(func(l *netns.Line) error { return l.Narrow(kbit) })(s)
	}},
	{Name: "line-slow", Topologies: namespaces, Needs: netns.Delays, Strike: func(s *Scene) (string, func() error, error) {
		ms, percent := 1+int(s.upTo(s.TTL/5).Milliseconds()), s.Random.IntN(10)
		return onLines(func(l *netns.Line) error { return l.Delay(ms, percent) })(s)
	}},
	{Name: "machines-lost", Topologies: namespaces, Once: true, TTL: time.Second, Strike: machinesLost},
	{Name: "links-at-random", Topologies: netnsQuorum, Strike: atRandom},
}

// lines draws that of one member, sometimes all.
func (s *Scene) lines() (hit string, chosen []*netns.Line) {
	hit, ways := s.some()
	for _, way := range ways {
		chosen = append(chosen, way.Line)
	}
	return hit, chosen
}

// servers draws a server; of a quorum one, sometimes all.
func (s *Scene) servers() []int {
	all := s.Random.Perm(len(s.Topology.Servers))
	if s.Random.IntN(3) > 0 {
		all = all[:1]
	}
	return all
}

func onLines(cut func(*netns.Line) error) strike {
	return func(s *Scene) (string, func() error, error) {
		hit, lines := s.lines()
		for _, l := range lines {
			if err := cut(l); err != nil {
				return "", nil, err
			}
		}
		return hit, func() error { return heal(lines) }, nil
	}
}

func heal(lines []*netns.Line) error {
	for _, l := range lines {
		if err := l.Heal(); err != nil {
			return err
		}
	}
	return nil
}

// onPairs hits what goes between members and servers.
func onPairs(cut func(l *netns.Line, servers []int) error) strike {
	return func(s *Scene) (string, func() error, error) {
		servers := s.servers()
		return onLines(func(l *netns.Line) error { return cut(l, servers) })(s)
	}
}

// atRandom cuts each way between a member and a server with a chance: nobody sees
// what others see.
func atRandom(s *Scene) (string, func() error, error) {
	var lines []*netns.Line
	for _, way := range s.Ways {
		lines = append(lines, way.Line)
		for server := range s.Topology.Servers {
			for _, d := range []netns.Direction{netns.Requests, netns.Answers} {
				if s.Random.IntN(3) > 0 {
					continue
				}
				if err := way.Line.Drop(d, server); err != nil {
					return "", nil, err
				}
			}
		}
	}
	return "everybody", func() error { return heal(lines) }, nil
}

// window is the longest claim window: see docs/protocol.md.
const window = 2 * time.Second

// machinesLost has members end together with their links: servers hear nothing of
// it, and take them for clients that listen. Others come in their place, from
// other machines. Each waiter that was there costs one claim window.
func machinesLost(s *Scene) (string, func() error, error) {
	members := s.Random.Perm(s.Workers.Size())[:1+s.Random.IntN(s.Workers.Size()-1)]
	hit := ""
	for _, i := range members {
		hit += " " + s.Workers.Name(i)
		if err := s.Ways[i].Line.Down(); err != nil {
			return "", nil, err
		}
		s.Workers.Kill(i, client.Anywhere)
		s.Windows += time.Duration(s.Callers) * min(s.TTL, window)
	}
	return hit, func() error {
		for _, i := range members {
			way, err := s.Topology.Way(false)
			if err != nil {
				return err
			}
			s.Ways[i].Close()
			s.Ways[i] = way
			s.Workers.Replace(i)
		}
		return nil
	}, nil
}
