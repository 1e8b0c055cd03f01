//go:build linux

// Package inject is the catalogue of what is done to clients, servers and the
// network between them.
package inject

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/faults/workers"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Scene is what faults can hit: one history under way.
type Scene struct {
	Topology *topology.Topology
	Workers  *workers.Workers
	Ways     []topology.Way // by member
	Step     client.Step    // of a fault that has steps
	Random   *rand.Rand
	TTL      time.Duration
	Prefix   string   // of the names
	Names    []string // that are locked
	T        testing.TB

	Callers int           // of each client
	Windows time.Duration // by which names may be given late: claim windows of waiters whose machine was lost
}

// Fault is a row of the catalogue.
type Fault struct {
	Name       string
	Topologies []topology.Kind // where it can happen; none: everywhere
	Steps      []client.Step   // at which it hits a client; none: it hits no client
	Proxied    bool            // clients must come by proxies
	Loses      bool            // it may take data from Redis: only the fence is promised then

	Once     bool          // it hits once in a history
	TTL      time.Duration // of the clients, or half of that; 0: drawn
	Replicas int           // the clients' WaitReplicas
	Shape    *Shape        // of processes and load; nil: drawn
	Calm     bool          // servers and network are left alone

	Jumps  bool // the server's clock jumps forward
	Lags   bool // a node's clock goes back, and what it has lives for longer
	Splits bool // two servers may answer as the master at a time

	Needs func() error // why it can't be on this machine; nil: it always can

	Strike strike

	// Lasts is how long it lasts; nil: from nearly nothing to 2 TTL.
	Lasts func(s *Scene) time.Duration
}

// strike begins a fault and says whom it hit; empty: nobody, it did not come to it. heal
// ends it, and may be nil if nothing is to be ended.
type strike func(s *Scene) (hit string, heal func() error, err error)

// At reports whether the fault can happen there.
func (f *Fault) At(k topology.Kind) bool {
	if f.Proxied && !k.Proxied() {
		return false
	}
	return len(f.Topologies) == 0 && !k.Clocked() && !k.Netns() || slices.Contains(f.Topologies, k)
}

// All is the catalogue. Its first row is no fault at all: what must always go
// well.
func All() []Fault {
	return slices.Concat([]Fault{None}, ofClients, ofManyWaiters, ofServers, ofNetworks, ofQuorums, ofFailovers, ofClocks, ofNamespaces)
}

// None hits nobody.
var None = Fault{Name: "none", Calm: true, TTL: 2 * time.Second, Strike: func(*Scene) (string, func() error, error) { return "", nil, nil }}

// upTo draws a length of time.
func (s *Scene) upTo(d time.Duration) time.Duration {
	return time.Duration(s.Random.Int64N(int64(d) + 1))
}

// Last draws how long a fault lasts.
func (s *Scene) Last(f *Fault) time.Duration {
	if f.Lasts != nil {
		return f.Lasts(s)
	}
	return s.upTo(2 * s.TTL)
}

// some draws one member, sometimes all.
func (s *Scene) some() (hit string, ways []topology.Way) {
	if s.Random.IntN(3) == 0 {
		return "everybody", s.Ways
	}
	i := s.Random.IntN(len(s.Ways))
	return s.Workers.Name(i), s.Ways[i : i+1]
}

// server draws one that is a master.
func (s *Scene) server() *redistest.Server {
	masters := len(s.Topology.Servers)
	switch s.Topology.Kind {
	case topology.Sentinel:
		masters = 1
	case topology.Cluster:
		masters /= 2
	}
	return s.Topology.Servers[s.Random.IntN(masters)]
}

// minority draws servers of a quorum whose loss leaves a majority.
func (s *Scene) minority() []int {
	all := s.Random.Perm(len(s.Topology.Servers))
	return all[:1+s.Random.IntN(len(all)/2)]
}

// each calls f for some servers and joins who they are.
func (s *Scene) each(which []int, f func(i int) error) (string, error) {
	hit := ""
	for _, i := range which {
		if err := f(i); err != nil {
			return hit, err
		}
		hit += fmt.Sprintf(" server%d", i+1)
	}
	return hit, nil
}

// still lets up to n holders stand still until thaw.
func (s *Scene) still(n int) (thaw func()) {
	var stopped []int
	for _, i := range s.Random.Perm(s.Workers.Size())[:n] {
		if s.Workers.Freeze(i, client.InWork) {
			stopped = append(stopped, i)
		}
	}
	return func() {
		for _, i := range stopped {
			s.Workers.Thaw(i)
		}
	}
}
