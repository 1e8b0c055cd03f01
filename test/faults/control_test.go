//go:build linux

package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/inject"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

// Checker is one of check.
type Checker func(*check.History, check.Rules) []check.Violation

// Control is a situation outside the promises: a predicted failure must happen. If the lock has a
// fence, nothing may be lost behind it.
type Control struct {
	Why      string // what is predicted
	Scenario string
	Peer     client.Peer // the lock, where it is not holdfast
	Sees     Checker     // reports it where the check is that nothing may be lost
	Right    client.Peer // in the same scenario it breaks nothing
}

// Controls are all of them.
var Controls = []Control{
	{Why: "a master without WAIT fails over to a replica that lags: two hold", Scenario: "sentinel/failover-behind-client-frozen", Sees: check.Exclusion},
	{Why: "a server forgets all while somebody holds: two hold", Scenario: "standalone/restarted-empty-client-frozen", Sees: check.Exclusion},
	{Why: "FLUSHALL: two hold", Scenario: "standalone/flushall", Sees: check.Exclusion},
	{Why: "DEL of the key: two hold", Scenario: "standalone/keys-deleted-client-frozen", Sees: check.Exclusion},
	{Why: "the key is evicted: two hold", Scenario: "standalone/evicted-client-frozen", Sees: check.Exclusion},
	{Why: "a holder stops between its last check and its write: an update is lost without a fence", Scenario: "standalone/client-frozen/before-write", Sees: check.Careless},
	{Why: "the server's clock jumps forward, so leases end early: two hold", Scenario: "clocked/clock-forward", Sees: check.Exclusion},
	{Why: "the server's clock goes faster than the margin allows for: two hold", Scenario: "clocked/clock-fast-client-killed", Sees: check.Exclusion},
	{Why: "one node's clock jumps forward under a bare majority: two hold", Scenario: "clocked-quorum/node-clock-forward-bare-majority", Sees: check.Exclusion},
	{Why: "the clocks of a majority jump forward: two hold", Scenario: "clocked-quorum/majority-clocks-jump", Sees: check.Exclusion},
	{Why: "data is lost and the clock is behind the newest token: tokens fall", Scenario: "clocked/flushall-clock-behind", Sees: check.Tokens},
	{Why: "waiters that poll have no order: they are overtaken", Scenario: "standalone/none", Peer: client.Recipe, Sees: check.InOrder},
	{Why: "a deadline counted from the answer: two hold", Scenario: "standalone/answers-held", Peer: client.RecipeLate, Right: client.Recipe, Sees: check.Exclusion},
	{Why: "a deadline counted from an answer that TCP had to send again: two hold", Scenario: "netns/answers-vanish", Peer: client.RecipeLate, Right: client.Recipe, Sees: check.Exclusion},
}

// Can says why this machine can't play a control; nil: it can.
func (c *Control) Can() error {
	scenario, err := controlScenario(c.Scenario)
	if err != nil {
		return err
	}
	return scenario.can()
}

// ControlOutcome is what a history of a control was.
type ControlOutcome struct {
	Seed   uint64
	Grants int
	Seen   []check.Violation // what was predicted
	Behind []check.Violation // what was not: of the fence, or of the lock that is right
}

// Play plays one history of a control.
func (p *Controlled) Play(c Control, seed uint64) (o ControlOutcome, err error) {
	scenario, err := controlScenario(c.Scenario)
	if err != nil {
		return o, err
	}
	o.Seed = seed
	s, rules, err := p.history(scenario, c.Peer, seed)
	if err != nil {
		return o, err
	}
	o.Grants, o.Seen = len(s.Leases), c.Sees(s, rules)
	if c.Peer == "" {
		o.Behind = append(check.Fence(s, rules), check.Adds(s, rules)...)
	}
	if c.Right != "" {
		if s, rules, err = p.history(scenario, c.Right, seed); err != nil {
			return o, err
		}
		o.Behind = append(o.Behind, c.Sees(s, rules)...)
	}
	return o, nil
}

// Controlled plays controls, on topologies that stay open for the length of a test.
type Controlled struct {
	t          testing.TB
	slack      time.Duration
	topologies map[topology.Kind]*topology.Topology
}

// NewControlled makes one; slack is that of a Plan.
func NewControlled(t testing.TB, slack time.Duration) *Controlled {
	return &Controlled{t, slack, map[topology.Kind]*topology.Topology{}}
}

func (p *Controlled) topology(kind topology.Kind) *topology.Topology {
	if p.topologies[kind] == nil {
		p.topologies[kind] = topology.Open(p.t, kind)
	}
	return p.topologies[kind]
}

// history plays one, and says that nothing was to be lost in it.
func (p *Controlled) history(scenario Scenario, peer client.Peer, seed uint64) (*check.History, check.Rules, error) {
	r := run{scenario: scenario, seed: seed, peer: peer, t: p.t, topology: p.topology(scenario.Topology), slack: p.slack}
	events, err := r.history()
	if err != nil {
		return nil, check.Rules{}, err
	}
	return check.Read(events), check.Rules{TTL: r.ttl, Slack: r.slack, Calm: scenario.Fault.Calm}, nil
}

// controlScenario finds a scenario by its name, among those of controls, too.
func controlScenario(name string) (Scenario, error) {
	all := scenariosOf(slices.Concat(inject.All(), inject.Controls()))
	if i := slices.IndexFunc(all, func(s Scenario) bool { return s.String() == name }); i >= 0 {
		return all[i], nil
	}
	return Scenario{}, fmt.Errorf("no scenario is called %s", name)
}
