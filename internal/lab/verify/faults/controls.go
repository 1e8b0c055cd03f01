//go:build linux

package faults

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/internal/lab/verify/client"
	"github.com/holdfast-go/holdfast/internal/lab/verify/place"
)

// Controls are what no promise covers, beside what is in the catalogue already:
// by them it is seen that the checkers see something.
func Controls() []Fault {
	return []Fault{
		{Name: "failover-behind-client-frozen", Places: sentinel, Loses: true, Once: true, TTL: aFailover, Lasts: briefly, Strike: unheard},
		{Name: "keys-deleted", Places: []place.Kind{place.Standalone}, Loses: true, Lasts: briefly, Strike: deleted},
		{Name: "flushall-clock-behind", Places: clocked, Loses: true, Lasts: briefly, Strike: behind},
		{Name: "clock-fast-client-killed", Places: clocked, Loses: true, Strike: drift(300_000)},
		{Name: "majority-clocks-jump", Places: clockedQuorum, Loses: true, Strike: jump(2, 1), Lasts: briefly},
	}
}

// unheard lets the master fail over to replicas that have not heard of the newest
// grants, while a holder stands still: one that runs asks at once when it sees
// another server, and so believes for a round trip only.
func unheard(s *Scene) (string, func() error, error) {
	g := s.Place.Guarded
	master, replicas := g.Master, append([]*redistest.Server(nil), g.Replicas...)
	redistest.CutReplicas(s.T, master, replicas...)
	time.Sleep(100 * time.Millisecond) // in which tenures begin that the replicas do not hear of
	i := s.Random.IntN(s.Crew.Size())
	holds := s.Crew.Freeze(i, client.InWork)
	master.Kill()
	redistest.ThawAll(s.T, replicas...)
	old := g.Promoted(s.T)
	return fmt.Sprint(old.Addr(), " ", holds), func() error {
		time.Sleep(aFailover / 2) // in which others lock
		if holds {
			s.Crew.Thaw(i)
		}
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
	s.Place.Clocks[0].Step(-time.Hour)
	server := s.server()
	_, err := server.Do("FLUSHALL")
	return server.Addr(), nil, err
}
