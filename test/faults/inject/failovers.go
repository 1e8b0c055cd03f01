//go:build linux

package inject

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

var (
	sentinel = []topology.Kind{topology.Sentinel}
	cluster  = []topology.Kind{topology.Cluster}
)

// aFailover outlives one, so that there is something to be lost.
const aFailover = 5 * time.Second

// ofFailovers let another server become the master. WaitReplicas keeps what was
// granted, so there nothing may be lost.
var ofFailovers = []Fault{
	{Name: "failover", Topologies: sentinel, Loses: true, Once: true, TTL: aFailover, Strike: failover(false, false), Lasts: briefly},
	{Name: "failover-behind", Topologies: sentinel, Loses: true, Once: true, TTL: aFailover, Strike: failover(true, false), Lasts: briefly},
	{Name: "failover-frozen", Topologies: sentinel, Loses: true, Splits: true, Once: true, TTL: aFailover, Strike: failover(false, true), Lasts: briefly},
	{Name: "failover-acknowledged", Topologies: sentinel, Replicas: 2, Once: true, TTL: aFailover, Strike: failover(false, false), Lasts: briefly},
	{Name: "failover-acknowledged-behind", Topologies: sentinel, Replicas: 2, Once: true, TTL: aFailover, Strike: failover(true, false), Lasts: briefly},
	{Name: "failover-acknowledged-frozen", Topologies: sentinel, Replicas: 2, Once: true, TTL: aFailover, Strike: failover(false, true), Lasts: briefly},
	{Name: "master-killed", Topologies: cluster, Loses: true, Once: true, TTL: aFailover, Strike: masterKilled, Lasts: briefly},
	{Name: "master-killed-acknowledged", Topologies: cluster, Replicas: 1, Once: true, TTL: aFailover, Strike: masterKilled, Lasts: briefly},
	{Name: "failover-by-order", Topologies: cluster, Once: true, Strike: byOrder, Lasts: briefly},
	{Name: "slot-moved", Topologies: cluster, Strike: moveSlot},
}

// failover ends the master, or freezes it, and returns when another is it. behind:
// the replicas have not got what was written last.
func failover(behind, freeze bool) strike {
	return func(s *Scene) (string, func() error, error) {
		g := s.Topology.Watched
		master, replicas := g.Master, append([]*redistest.Server(nil), g.Replicas...)
		if behind {
			redistest.CutReplicas(s.T, master, replicas...)
			time.Sleep(s.upTo(300 * time.Millisecond)) // what happens now gets lost
		}
		if freeze {
			if err := master.Freeze(); err != nil {
				return "", nil, err
			}
		} else {
			master.Kill()
		}
		if behind {
			redistest.ThawAll(s.T, replicas...)
		}
		old := g.Promoted(s.T)
		return old.Addr(), func() error {
			if !freeze {
				if err := old.Restart(true); err != nil {
					return err
				}
			} else if err := old.Thaw(); err != nil {
				return err
			}
			if freeze && s.Random.IntN(2) == 0 {
				time.Sleep(s.upTo(time.Second)) // it takes writes meanwhile
			}
			g.Follow(s.T, old)
			return nil
		}, nil
	}
}

// masterKilled kills a master of a Cluster, and returns when its replica has taken
// over.
func masterKilled(s *Scene) (string, func() error, error) {
	masters := s.Topology.Servers[:len(s.Topology.Servers)/2]
	replicas := s.Topology.Servers[len(masters):]
	master := masters[s.Random.IntN(len(masters))]
	id, err := master.Do("CLUSTER", "MYID")
	if err != nil {
		return "", nil, err
	}
	for _, replica := range replicas {
		nodes, err := replica.Do("CLUSTER", "NODES")
		if err != nil {
			return "", nil, err
		}
		for line := range strings.Lines(nodes) {
			if strings.Contains(line, "myself,slave "+id) {
				master.Kill()
				return master.Addr(), func() error { return master.Restart(true) }, promoted(replica)
			}
		}
	}
	return "", nil, fmt.Errorf("no replica of %s", master.Addr())
}

// promoted waits until a server is a master.
func promoted(s *redistest.Server) error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if role, err := s.Do("ROLE"); err == nil && strings.HasPrefix(role, "master") {
			return nil
		}
	}
	return fmt.Errorf("%s did not take over", s.Addr())
}

// byOrder lets a replica of a Cluster take over, which waits until it has all.
func byOrder(s *Scene) (string, func() error, error) {
	masters := len(s.Topology.Servers) / 2
	replica := s.Topology.Servers[masters+s.Random.IntN(masters)]
	if _, err := replica.Do("CLUSTER", "FAILOVER"); err != nil {
		return "", nil, err
	}
	return replica.Addr(), func() error { return promoted(replica) }, nil
}

// moveSlot moves the slot of a name to another master, key by key.
func moveSlot(s *Scene) (string, func() error, error) {
	masters := s.Topology.Servers[:len(s.Topology.Servers)/2]
	l := s.Prefix + s.Names[s.Random.IntN(len(s.Names))]
	source := -1
	for i, m := range masters {
		if _, err := m.Do("EXISTS", l); err == nil {
			source = i
		}
	}
	if source < 0 {
		return "", nil, fmt.Errorf("no master has the slot of %s", l)
	}
	target := (source + 1 + s.Random.IntN(len(masters)-1)) % len(masters)
	m := mover{from: masters[source], to: masters[target], all: masters}
	m.slot = m.do(m.from, "CLUSTER", "KEYSLOT", l)
	from, to := m.do(m.from, "CLUSTER", "MYID"), m.do(m.to, "CLUSTER", "MYID")
	m.do(m.to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", from)
	m.do(m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", to)
	m.some(1)
	return fmt.Sprintf("slot %s from %s to %s", m.slot, m.from.Addr(), m.to.Addr()), func() error {
		for m.err == nil && m.some(1+s.Random.IntN(3)) > 0 {
			time.Sleep(s.upTo(20 * time.Millisecond))
		}
		m.do(m.to, "CLUSTER", "SETSLOT", m.slot, "NODE", to)
		for _, node := range m.all {
			m.do(node, "CLUSTER", "SETSLOT", m.slot, "NODE", to)
		}
		return m.err
	}, m.err
}

// mover remembers the first error, and does nothing more then.
type mover struct {
	from, to *redistest.Server
	all      []*redistest.Server
	slot     string
	err      error
}

func (m *mover) do(s *redistest.Server, args ...any) string {
	if m.err != nil {
		return ""
	}
	text, err := s.Do(args...)
	if err != nil {
		m.err = fmt.Errorf("%v on %s: %w", args, s.Addr(), err)
	}
	return text
}

// some moves up to n keys, and says how many went.
func (m *mover) some(n int) int {
	keys := strings.Fields(m.do(m.from, "CLUSTER", "GETKEYSINSLOT", m.slot, n))
	if len(keys) == 0 {
		return 0
	}
	host, port, _ := strings.Cut(m.to.Addr(), ":")
	args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	m.do(m.from, args...)
	return len(keys)
}
