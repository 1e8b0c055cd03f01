//go:build linux

package inject

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

var plain = []topology.Kind{topology.Standalone}

// Controls are what no promise covers, beside what is in the catalogue already:
// by them it is seen that the checkers see something.
func Controls() []Fault {
	return []Fault{
		{Name: "failover-behind-client-frozen", Topologies: sentinel, Loses: true, Once: true, TTL: 2 * aFailover, Lasts: briefly, Strike: unnoticed},
		{Name: "keys-deleted-client-frozen", Topologies: plain, Loses: true, TTL: 2 * time.Second, Lasts: briefly, Strike: unawares(deleted)},
		{Name: "evicted-client-frozen", Topologies: plain, Loses: true, TTL: 2 * time.Second, Lasts: briefly, Strike: unawares(strikeOf("evicted"))},
		{Name: "restarted-empty-client-frozen", Topologies: plain, Loses: true, TTL: 2 * time.Second, Lasts: briefly, Strike: unawares(strikeOf("server-restarted-empty"))},
		{Name: "flushall-clock-behind", Topologies: clocked, Loses: true, Lasts: briefly, Strike: behind},
		{Name: "clock-fast-client-killed", Topologies: clocked, Loses: true, Strike: drift(300_000)},
		{Name: "node-clock-forward-bare-majority", Topologies: clockedQuorum, Loses: true, Lasts: briefly, Strike: barely},
		{Name: "majority-clocks-jump", Topologies: clockedQuorum, Loses: true, Strike: jump(2, 1), Lasts: briefly},
	}
}

// unawares strikes while holders stand still, and lets others lock meanwhile: a
// holder that runs hears of a loss soon.
func unawares(begin strike) strike {
	return func(s *Scene) (string, func() error, error) {
		thaw := s.still(2)
		hit, heal, err := begin(s)
		if err == nil && heal != nil {
			err = heal()
		}
		return hit, func() error {
			time.Sleep(s.TTL / 4) // in which others lock
			thaw()
			return nil
		}, err
	}
}

// strikeOf is that of a row of the catalogue.
func strikeOf(name string) strike {
	i := slices.IndexFunc(ofServers, func(f Fault) bool { return f.Name == name })
	return ofServers[i].Strike
}

// unnoticed lets the master fail over to replicas that have not heard of the newest
// grants, while a holder stands still: one that runs asks at once when it sees
// another server, and so believes for a round trip only.
func unnoticed(s *Scene) (string, func() error, error) {
	g := s.Topology.Watched
	master, replicas := g.Master, append([]*redistest.Server(nil), g.Replicas...)
	redistest.CutReplicas(s.T, master, replicas...)
	time.Sleep(100 * time.Millisecond) // in which tenures begin that the replicas do not hear of
	thaw := s.still(2)
	master.Kill()
	redistest.ThawAll(s.T, replicas...)
	old := g.Promoted(s.T)
	return old.Addr(), func() error {
		time.Sleep(aFailover / 2) // in which others lock
		thaw()
		if err := old.Restart(true); err != nil {
			return err
		}
		g.Follow(s.T, old)
		return nil
	}, nil
}

// deleted deletes the keys of all names.
func deleted(s *Scene) (string, func() error, error) {
	server := s.server()
	for _, name := range s.Names {
		if _, err := server.Do("DEL", s.Prefix+name); err != nil {
			return "", nil, err
		}
	}
	return server.Addr(), nil, nil
}

// behind lets the server forget all, with a clock that is behind what it has
// given out.
func behind(s *Scene) (string, func() error, error) {
	s.Topology.Clocks[0].Step(-time.Hour)
	server := s.server()
	_, err := server.Do("FLUSHALL")
	return server.Addr(), nil, err
}

// barely lets one node's clock jump when tenures have begun on a bare majority, since
// another node stood still; that one and the one whose clock jumped give the names away.
func barely(s *Scene) (string, func() error, error) {
	still := s.Topology.Servers[len(s.Topology.Servers)-1]
	if err := still.Freeze(); err != nil {
		return "", nil, err
	}
	time.Sleep(s.TTL / 4)
	hit, heal, err := jump(1, 1)(s)
	return hit, heal, errors.Join(err, still.Thaw())
}
