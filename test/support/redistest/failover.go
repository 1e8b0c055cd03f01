package redistest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// CutReplicas freezes the replicas and cuts their links, so that what is
// written from now on never reaches them unless Thaw comes before the master's
// end.
func CutReplicas(t testing.TB, master *Server, replicas ...*Server) {
	t.Helper()
	for _, replica := range replicas {
		if err := replica.Freeze(); err != nil {
			t.Fatal(err)
		}
	}
	// A frozen process still has what its socket received, and no more.
	master.MustDo(t, "CLIENT", "KILL", "TYPE", "replica")
	await(t, "the master has no replica", func() bool {
		info, err := master.Do("INFO", "replication")
		return err == nil && field(info, "connected_slaves") == "0"
	})
}

// ThawAll lets frozen servers go on.
func ThawAll(t testing.TB, servers ...*Server) {
	t.Helper()
	for _, s := range servers {
		if err := s.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
}

// Promoted waits until the sentinels have made another server the master and
// it says so itself, and returns the old one, which counts as a replica now.
func (g *Watched) Promoted(t testing.TB) (old *Server) {
	t.Helper()
	await(t, "the sentinels agree on another master", func() bool {
		i := slices.IndexFunc(g.Replicas, func(s *Server) bool { return g.named(s.Addr()) })
		if i < 0 {
			return false
		}
		role, err := g.Replicas[i].Do("ROLE")
		if err != nil || !strings.HasPrefix(role, "master") {
			return false
		}
		old, g.Master, g.Replicas[i] = g.Master, g.Replicas[i], g.Master
		g.promoted = time.Now()
		return true
	})
	return old
}

// named reports whether every sentinel says that the master is there.
func (g *Watched) named(addr string) bool {
	for _, s := range g.Sentinels {
		got, err := s.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelMaster)
		if err != nil || strings.Replace(got, "\n", ":", 1) != addr {
			return false
		}
	}
	return true
}

// Follow makes a server a replica of the master. The sentinels would, too, but
// they wait about ten seconds before they do.
func (g *Watched) Follow(t testing.TB, s *Server) {
	t.Helper()
	s.MustDo(t, "REPLICAOF", "127.0.0.1", g.Master.port)
}

// Whole waits until all replicas are in sync and the sentinels are content, and
// would begin another failover at once. On a busy machine the sentinels may have
// begun one by themselves: it reports whether another server is the master now.
func (g *Watched) Whole(t testing.TB) (moved bool) {
	t.Helper()
	await(t, "the replicas are in sync and the sentinels content", func() bool {
		if i := slices.IndexFunc(g.Replicas, func(s *Server) bool { return g.named(s.Addr()) }); i >= 0 {
			g.Master, g.Replicas[i] = g.Replicas[i], g.Master
			g.promoted, moved = time.Now(), true
		}
		if time.Since(g.promoted) < 2*failoverTimeout {
			return false
		}
		info, err := g.Master.Do("INFO", "replication")
		if err != nil || strings.Count(info, "state=online") != len(g.Replicas) {
			return false
		}
		for _, s := range g.Sentinels {
			replicas, err := s.Do("SENTINEL", "REPLICAS", SentinelMaster)
			if err != nil || !content(replicas, len(g.Replicas)) {
				return false
			}
			if ok, err := s.Do("SENTINEL", "CKQUORUM", SentinelMaster); err != nil || !strings.HasPrefix(ok, "OK") {
				return false
			}
		}
		return g.named(g.Master.Addr())
	})
	return moved
}

// content reads the answer of SENTINEL REPLICAS: all are up.
func content(replicas string, n int) bool {
	lines := strings.Split(replicas, "\n")
	up := 0
	for i := 0; i+1 < len(lines); i++ {
		if lines[i] == "flags" && lines[i+1] == "slave" {
			up++
		}
	}
	return up == n
}
