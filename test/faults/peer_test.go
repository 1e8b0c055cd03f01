//go:build linux

package faults

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/history"
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
	var telling sync.Mutex
	playAll(t, plan.Parallel, plan.each, func(r run) {
		r.slack = plan.Slack
		o := r.playPeer()
		telling.Lock()
		defer telling.Unlock()
		report.add(&o)
		if plan.Progress != nil {
			plan.Progress(&o)
		}
	})
	return report
}

// each draws the histories: those of all peers in one scenario have one seed.
func (p *PeerPlan) each(begin func(run)) {
	random := rand.New(rand.NewPCG(p.Seed, 0))
	for range p.Histories {
		for _, scenario := range p.Scenarios {
			seed := random.Uint64() >> 12
			if p.Histories == 1 && len(p.Scenarios) == 1 {
				seed = p.Seed
			}
			for _, peer := range p.Peers {
				begin(run{scenario: scenario, seed: seed, peer: peer})
			}
		}
	}
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
	events, err := r.history()
	if err != nil {
		o.Err = fmt.Errorf("%s in %w", r.peer, err)
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
