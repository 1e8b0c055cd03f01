//go:build linux

// Package topology is where histories happen: deployments of real servers that are
// made new between two histories, and the ways by which clients reach them.
package topology

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/faults/netns"
	"github.com/holdfast-go/holdfast/test/faults/wallclock"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Kind is a kind of deployment.
type Kind string

// The kinds.
const (
	Standalone Kind = "standalone"
	AOF        Kind = "aof"      // appendfsync always
	AOFLazy    Kind = "aof-lazy" // appendfsync everysec
	Sentinel   Kind = "sentinel" // a master and two replicas
	Cluster    Kind = "cluster"  // three masters with a replica each
	Quorum3    Kind = "quorum3"
	Quorum5    Kind = "quorum5"

	Clocked       Kind = "clocked"        // standalone, with a wall clock that can be moved
	ClockedQuorum Kind = "clocked-quorum" // of three nodes with such clocks

	Netns       Kind = "netns"        // standalone, with clients in network namespaces of their own
	NetnsQuorum Kind = "netns-quorum" // of three nodes, with such clients
)

// Kinds are all of them.
var Kinds = []Kind{Standalone, AOF, AOFLazy, Sentinel, Cluster, Quorum3, Quorum5, Clocked, ClockedQuorum, Netns, NetnsQuorum}

// Nodes is how many masters the quorum of a kind has; 0: it is none.
func (k Kind) Nodes() int {
	switch k {
	case Quorum3, ClockedQuorum, NetnsQuorum:
		return 3
	case Quorum5:
		return 5
	}
	return 0
}

// Proxied reports whether clients can be made to reach the servers by proxies. The
// others tell their clients addresses themselves.
func (k Kind) Proxied() bool { return k != Sentinel && k != Cluster && !k.Netns() }

// Clocked reports whether the servers' wall clocks can be moved.
func (k Kind) Clocked() bool { return k == Clocked || k == ClockedQuorum }

// Topology is a deployment.
type Topology struct {
	Kind    Kind
	Servers []*redistest.Server // those with data: masters, then replicas
	Watched *redistest.Watched  // of Sentinel
	Quorum  string              // a new quorum-id with each Reset
	Clocks  []*wallclock.Clock  // of the servers, where they can be moved
	Network *netns.Network      // between servers and clients, where these are in namespaces

	members []quorum.Member
	resets  int
}

// Open starts the servers, for the length of a test.
func Open(t testing.TB, kind Kind) *Topology {
	t.Helper()
	p := &Topology{Kind: kind}
	if kind.Netns() {
		p.Network = netns.Start(t, max(1, kind.Nodes()))
	}
	switch kind {
	case Standalone:
		p.Servers = []*redistest.Server{redistest.Start(t, redistest.Options{})}
	case AOF:
		p.Servers = []*redistest.Server{redistest.Start(t, redistest.Options{AOF: true, Config: []string{"appendfsync always"}})}
	case AOFLazy:
		p.Servers = []*redistest.Server{redistest.Start(t, redistest.Options{AOF: true, Config: []string{"appendfsync everysec"}})}
	case Sentinel:
		g := redistest.Sentinel(t, 2)
		p.Watched = &g
		p.Servers = append([]*redistest.Server{g.Master}, g.Replicas...)
	case Cluster:
		p.Servers = redistest.Cluster(t, 3, 1)
	case Clocked:
		p.Servers = []*redistest.Server{redistest.Start(t, redistest.Options{Env: p.clock(t)})}
	case Netns:
		p.Servers = []*redistest.Server{redistest.Start(t, redistest.Options{Config: p.listen(0)})}
	case Quorum3, Quorum5, ClockedQuorum, NetnsQuorum:
		for i := range kind.Nodes() {
			s := redistest.Start(t, redistest.Options{AOF: true, Env: p.clock(t), Config: p.listen(i)})
			p.Servers = append(p.Servers, s)
			store, err := rueidisstore.Open(s.URL(), &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { o.ForceSingleClient = true }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			p.members = append(p.members, quorum.Member{Address: fmt.Sprintf("node%d", i+1), Store: store})
		}
	}
	return p
}

// Reset makes the deployment as if it were new: all servers run, with no data and
// no limits.
func (p *Topology) Reset(t testing.TB) error {
	for _, c := range p.Clocks {
		c.Set(0)
	}
	switch p.Kind {
	case Sentinel:
		p.Watched.Whole(t)
		p.Servers = append([]*redistest.Server{p.Watched.Master}, p.Watched.Replicas...)
	case Cluster:
		redistest.ClusterWhole(t, p.Servers, len(p.Servers)/2)
		if err := p.mastersFirst(); err != nil {
			return err
		}
	}
	for _, s := range p.Servers {
		if err := reset(s, p.Kind == Sentinel || p.Kind == Cluster); err != nil {
			return err
		}
	}
	if err := p.hangUp(); err != nil {
		return err
	}
	if n := p.Kind.Nodes(); n > 0 {
		p.resets++
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var err error
		for ctx.Err() == nil { // the members' stores may have to connect again
			if p.Quorum, err = quorum.Init(ctx, fmt.Sprintf("demo%d", p.resets), true, p.members...); err == nil {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return err
	}
	return nil
}

// mastersFirst sorts the servers of a Cluster by what they are now.
func (p *Topology) mastersFirst() error {
	var masters, replicas []*redistest.Server
	for _, s := range p.Servers {
		role, err := s.Do("ROLE")
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(role, "master"):
			masters = append(masters, s)
		default:
			replicas = append(replicas, s)
		}
	}
	p.Servers = slices.Concat(masters, replicas)
	return nil
}

// defaults are what a fault may have changed.
var defaults = [][]any{
	{"CONFIG", "SET", "maxmemory", "0"},
	{"CONFIG", "SET", "maxmemory-policy", "noeviction"},
	{"CONFIG", "SET", "maxclients", "10000"},
	{"CLIENT", "UNPAUSE"},
}

func reset(s *redistest.Server, replicated bool) error {
	if s.Pid() == 0 {
		if err := s.Restart(false); err != nil {
			return err
		}
	}
	if err := s.Thaw(); err != nil {
		return err
	}
	commands := defaults
	if !replicated {
		commands = append([][]any{{"REPLICAOF", "NO", "ONE"}}, commands...)
	}
	commands = append(commands[:len(commands):len(commands)], []any{"FLUSHALL"})
	for _, command := range commands {
		_, err := s.Do(command...)
		if replicated && err != nil && strings.HasPrefix(err.Error(), "READONLY") {
			continue // its master does it
		}
		if err != nil {
			return fmt.Errorf("%v on %s: %w", command, s.Addr(), err)
		}
	}
	return nil
}

// Way is how one client reaches the deployment.
type Way struct {
	URLs    []string           // on a quorum one for each node
	Proxies []*redistest.Proxy // in front of each server, in their order; none: it goes straight
	Line    *netns.Line        // from a namespace of its own; nil: it goes by loopback
}

// Way makes a way; with proxies if that is asked for and can be. Close it.
func (p *Topology) Way(proxied bool) (w Way, err error) {
	switch p.Kind {
	case Sentinel:
		return Way{URLs: []string{p.Watched.URL()}}, nil
	case Cluster:
		addresses := make([]string, len(p.Servers))
		for i, s := range p.Servers {
			addresses[i] = s.Addr()
		}
		return Way{URLs: []string{"cluster://" + strings.Join(addresses, ",")}}, nil
	case Netns, NetnsQuorum:
		return p.line()
	}
	for _, s := range p.Servers {
		if !proxied {
			w.URLs = append(w.URLs, s.URL())
			continue
		}
		proxy, err := redistest.RunProxy(s.Addr())
		if err != nil {
			w.Close()
			return Way{}, err
		}
		w.Proxies = append(w.Proxies, proxy)
		w.URLs = append(w.URLs, "redis://"+proxy.Addr())
	}
	return w, nil
}

// Close takes the proxies away, and the line.
func (w Way) Close() {
	if w.Line != nil {
		w.Line.Close()
	}
	for _, p := range w.Proxies {
		p.Close()
	}
}

// clock is the environment of the next server: that of a clock of its own, where
// the kind has clocks.
func (p *Topology) clock(t testing.TB) []string {
	t.Helper()
	if !p.Kind.Clocked() {
		return nil
	}
	c := wallclock.Start(t)
	p.Clocks = append(p.Clocks, c)
	return c.Env()
}
