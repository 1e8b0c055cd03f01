//go:build linux

package inject

import (
	"time"

	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// ofNetworks hit the way of one member, or of all, to all servers of one master;
// on a quorum to one node or to all.
var ofNetworks = []Fault{
	{Name: "black-hole", Proxied: true, Strike: onWay((*redistest.Proxy).Hold, (*redistest.Proxy).Pass)},
	{Name: "answers-held", Proxied: true, Strike: onWay((*redistest.Proxy).HoldReplies, (*redistest.Proxy).Pass)},
	{Name: "requests-held", Proxied: true, Strike: onWay((*redistest.Proxy).HoldRequests, (*redistest.Proxy).Pass)},
	{Name: "answers-lost", Proxied: true, Strike: onWay((*redistest.Proxy).HoldReplies, func(p *redistest.Proxy) { p.Cut(); p.Pass() })},
	{Name: "stalled", Proxied: true, Strike: onWay((*redistest.Proxy).Stall, (*redistest.Proxy).Pass)},
	{Name: "nth-answer-lost", Proxied: true, Strike: nthAnswer, Lasts: briefly},
	{Name: "reset", Proxied: true, Strike: onWay((*redistest.Proxy).Cut, func(*redistest.Proxy) {}), Lasts: briefly},
	{Name: "refused", Proxied: true, Strike: onWay((*redistest.Proxy).Refuse, (*redistest.Proxy).Pass)},
	{Name: "latency", Proxied: true, Strike: func(s *Scene) (string, func() error, error) {
		delay := s.upTo(s.TTL / 5)
		return onWay(func(p *redistest.Proxy) { p.Delay(delay) }, func(p *redistest.Proxy) { p.Delay(0) })(s)
	}},
}

// proxies draws those of one member, sometimes of all; of a quorum to one node,
// sometimes to all.
func proxies(s *Scene) (hit string, chosen []*redistest.Proxy) {
	hit, ways := s.some()
	all := s.Random.IntN(3) == 0
	node := s.Random.IntN(len(s.Topology.Servers))
	for _, way := range ways {
		if all {
			chosen = append(chosen, way.Proxies...)
		} else {
			chosen = append(chosen, way.Proxies[node])
		}
	}
	return hit, chosen
}

func onWay(begin, end func(*redistest.Proxy)) strike {
	return func(s *Scene) (string, func() error, error) {
		hit, proxies := proxies(s)
		for _, p := range proxies {
			begin(p)
		}
		return hit, func() error {
			for _, p := range proxies {
				end(p)
			}
			return nil
		}, nil
	}
}

func nthAnswer(s *Scene) (string, func() error, error) {
	n := 1 + s.Random.IntN(20)
	return onWay(func(p *redistest.Proxy) { p.LoseReply(n) }, func(*redistest.Proxy) {})(s)
}

// ofQuorums hit a minority of the nodes.
var ofQuorums = []Fault{
	{Name: "nodes-killed", Topologies: quorums, Strike: onNodes(
		func(n *redistest.Server) error { n.Kill(); return nil },
		func(n *redistest.Server) error { return n.Restart(true) }), Lasts: longish},
	{Name: "nodes-frozen", Topologies: quorums, Strike: onNodes((*redistest.Server).Freeze, (*redistest.Server).Thaw)},
	{Name: "nodes-restarted-empty", Topologies: quorums, Strike: onNodes(
		func(n *redistest.Server) error { return n.Restart(true) },
		func(*redistest.Server) error { return nil }), Lasts: longish},
	{Name: "nodes-forget", Topologies: quorums, Proxied: true, Strike: forget, Lasts: longish},
	{Name: "nodes-in-a-black-hole", Topologies: quorums, Proxied: true, Strike: blackHoles},
}

var quorums = []topology.Kind{topology.Quorum3, topology.Quorum5}

func longish(s *Scene) time.Duration { return s.TTL/2 + s.upTo(s.TTL) }

// onNodes hits a minority that is the same for the whole history: a node that has
// lost its data gives no vote before somebody sees to it.
func onNodes(begin, end func(*redistest.Server) error) strike {
	return func(s *Scene) (string, func() error, error) {
		n := len(s.Topology.Servers)
		which := make([]int, 1+s.Random.IntN(n/2))
		for i := range which {
			which[i] = i
		}
		hit, err := s.each(which, func(i int) error { return begin(s.Topology.Servers[i]) })
		return hit, func() error {
			_, err := s.each(which, func(i int) error { return end(s.Topology.Servers[i]) })
			return err
		}, err
	}
}

// forget restarts a node that has lost what it wrote last, while each member sees
// a majority of its own.
func forget(s *Scene) (string, func() error, error) {
	n := len(s.Topology.Servers)
	for _, way := range s.Ways {
		for _, i := range s.Random.Perm(n)[:n/2] {
			way.Proxies[i].Refuse()
		}
	}
	time.Sleep(s.upTo(s.TTL / 2))   // in which they lock by these
	server := s.Topology.Servers[0] // always the same: no more than a minority forgets
	server.Kill()
	err := cutTail(server.Dir(), s.Random.Int64N(20_000))
	if err == nil {
		err = server.Restart(false)
	}
	return "server1", func() error {
		for _, way := range s.Ways {
			for _, p := range way.Proxies {
				p.Pass()
			}
		}
		return nil
	}, err
}

// blackHoles hides a minority from everybody.
func blackHoles(s *Scene) (string, func() error, error) {
	which := s.minority()
	hit, err := s.each(which, func(i int) error {
		for _, way := range s.Ways {
			way.Proxies[i].Hold()
		}
		return nil
	})
	return hit, func() error {
		_, err := s.each(which, func(i int) error {
			for _, way := range s.Ways {
				way.Proxies[i].Pass()
			}
			return nil
		})
		return err
	}, err
}
