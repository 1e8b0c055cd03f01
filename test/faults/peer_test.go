//go:build linux

package faults

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

// PeerScenarios match the scenarios in which peers are compared: faults that all of them
// can be hit by.
const PeerScenarios = `^standalone/(none|client-frozen/(anywhere|after-grant|in-work|before-write)|client-killed/anywhere|server-restarted-empty|flushall|` +
	`answers-lost|nth-answer-lost|answers-held|stalled|latency|client-pause|server-frozen)$|^sentinel/failover-behind$`

// PeerPlan says what RunPeers does.
type PeerPlan struct {
	Peers     []client.Peer
	Scenarios []Scenario
	Seed      uint64
	Histories int // of each peer in each scenario
	Parallel  int
	Slack     time.Duration
	Failures  string // directory for histories that break a promise
	Progress  func(*PeerOutcome)
}

// RunPeers plays the same scenarios with each peer and with holdfast itself.
func RunPeers(t testing.TB, plan PeerPlan) *PeerReport {
	report := newPeerReport(plan)
	work := make(chan run)
	var working sync.WaitGroup
	var telling sync.Mutex
	for range plan.Parallel {
		topologies := map[topology.Kind]*topology.Topology{}
		working.Go(func() {
			defer func() { // a topology that can't be opened ends this goroutine, and fails the test
				for range work {
				}
			}()
			for r := range work {
				kind := r.scenario.Topology
				if topologies[kind] == nil {
					topologies[kind] = topology.Open(t, kind)
				}
				r.t, r.topology, r.slack = t, topologies[kind], plan.Slack
				o := r.playPeer()
				telling.Lock()
				report.add(&o)
				if plan.Progress != nil {
					plan.Progress(&o)
				}
				telling.Unlock()
			}
		})
	}
	random := rand.New(rand.NewPCG(plan.Seed, 0))
	for range plan.Histories {
		for _, scenario := range plan.Scenarios {
			seed := random.Uint64() >> 12
			if plan.Histories == 1 && len(plan.Scenarios) == 1 {
				seed = plan.Seed
			}
			for _, peer := range plan.Peers {
				work <- run{scenario: scenario, seed: seed, peer: peer}
			}
		}
	}
	close(work)
	working.Wait()
	return report
}

// PeerOutcome is what a history of a peer was.
type PeerOutcome struct {
	Peer     client.Peer
	Scenario Scenario
	Seed     uint64
	Grants   int
	Checked  map[Promise][]check.Violation // by the promises that the scenario is about
	Overtook int                           // see Overtaken
	Waited   time.Duration
	Events   []history.Event
	Err      error // of the harness
}

func (r *run) playPeer() PeerOutcome {
	o := PeerOutcome{Peer: r.peer, Scenario: r.scenario, Seed: r.seed}
	r.random = rand.New(rand.NewPCG(r.seed, 1))
	if r.dir, o.Err = os.MkdirTemp("", "hfv"); o.Err != nil { // short: a socket is in it
		return o
	}
	defer os.RemoveAll(r.dir)
	events, err := r.record()
	if err != nil {
		o.Err = fmt.Errorf("%s in %v, seed %d: %w", r.peer, r.scenario, r.seed, err)
		return o
	}
	s := check.Read(events)
	o.Grants, o.Events = len(s.Leases), events
	o.Checked = checkPeer(s, r.peer, r.scenario, r.ttl)
	o.Overtook, o.Waited = check.Overtaken(s)
	return o
}

// peerNamesOf are the names that peers lock, one or both.
var peerNamesOf = []string{"a", "b"}

func (r *run) peerNames() (targets []client.Target) {
	r.locked = peerNamesOf[:1+r.random.IntN(2)]
	for _, name := range r.locked {
		targets = append(targets, client.Target{Kind: history.Mutex, Names: []string{name}})
	}
	return targets
}

// watchKeys looks every few milliseconds what stands in Redis under the names,
// and notes when that is another thing than before: Detail is a hash of it, T
// after the look and Deadline before it.
func (r *run) watchKeys(notes *history.Writer) (stop func(), err error) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		last := map[string]string{}
		for {
			select {
			case <-done:
				return
			case <-time.After(3 * time.Millisecond):
			}
			for _, name := range peerNamesOf {
				began := history.Now()
				value, err := r.topology.Servers[0].Do("GET", r.peer.Key(r.prefix(), name))
				if err != nil {
					continue // down, or no master any more
				}
				seen := "-"
				if value != "" {
					seen = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))[:16]
				}
				if was, looked := last[name]; !looked || was != seen {
					notes.Note(history.Event{What: history.Monitor, Name: name, Detail: check.Seen + seen, Deadline: began})
				}
				last[name] = seen
			}
		}
	})
	if len(r.topology.Servers) > 1 { // which is the master may change
		close(done)
		running.Wait()
		return func() { _ = notes.Close() }, nil
	}
	return func() { close(done); running.Wait(); _ = notes.Close() }, nil
}
