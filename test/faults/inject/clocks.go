//go:build linux

package inject

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

var (
	clocked       = []topology.Kind{topology.Clocked}
	clockedQuorum = []topology.Kind{topology.ClockedQuorum}
)

// ofClocks move wall clocks of servers. A jump forward is an exception of S1, as
// lost data is; a jump back and a drift within the margin are none. On a quorum
// one clock's jump is enough where a tenure was counted by a bare majority: the
// others and that one are a majority for somebody else.
var ofClocks = []Fault{
	{Name: "clock-forward", Topologies: clocked, Loses: true, Jumps: true, Strike: jump(1, 1), Lasts: briefly},
	{Name: "clock-back", Topologies: clocked, Strike: jump(1, -1), Lasts: briefly},
	{Name: "clock-drifts-client-killed", Topologies: clocked, Strike: drift(9_000)},
	{Name: "node-clock-forward", Topologies: clockedQuorum, Loses: true, Jumps: true, Strike: jump(1, 1), Lasts: briefly},
	{Name: "node-clock-back", Topologies: clockedQuorum, Lags: true, Strike: jump(1, -1), Lasts: briefly},
	{Name: "node-clock-drifts-client-killed", Topologies: clockedQuorum, Strike: drift(9_000)},
}

// jump moves the clocks of the first servers by ten seconds or an hour, for good,
// forward (1) or back (-1).
func jump(servers int, way time.Duration) strike {
	return func(s *Scene) (string, func() error, error) {
		by := []time.Duration{10 * time.Second, time.Hour}[s.Random.IntN(2)]
		by *= way
		for _, c := range s.Topology.Clocks[:servers] {
			c.Step(by)
		}
		return fmt.Sprintf("%d by %v", servers, by), nil, nil
	}
}

// drift lets the server's clock go fast by so many parts in a million, or slow,
// while a client is killed: its lease ends by the clocks alone.
func drift(ppm int64) strike {
	return func(s *Scene) (string, func() error, error) {
		rate := ppm
		if s.Random.IntN(4) == 0 {
			rate = -ppm
		}
		stop := s.Topology.Clocks[0].Drift(rate)
		i := s.Random.IntN(s.Workers.Size())
		time.Sleep(s.upTo(s.TTL))
		name := s.Workers.Name(i)
		s.Workers.Kill(i, client.Anywhere)
		return fmt.Sprintf("%s %d ppm", name, rate), func() error { stop(); s.Workers.Replace(i); return nil }, nil
	}
}
