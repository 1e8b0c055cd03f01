//go:build linux

package verify

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/verify/check"
	"github.com/holdfast-go/holdfast/internal/lab/verify/client"
	"github.com/holdfast-go/holdfast/internal/lab/verify/faults"
	"github.com/holdfast-go/holdfast/internal/lab/verify/topology"
)

// Checker is one of check.
type Checker func(*check.Story, check.Rules) []check.Violation

// Control is a situation outside the promises: what is expected to break, does.
// Behind the fence nothing may, where the lock has one.
type Control struct {
	Why   string // what is predicted
	Cell  string
	Peer  client.Peer // the lock, where it is not holdfast
	Sees  Checker     // speaks of it, when it is told that nothing is to be lost
	Right client.Peer // in the same cell it breaks nothing
}

// Controls are all of them.
var Controls = []Control{
	{Why: "a master without WAIT fails over to a replica that lags: two hold", Cell: "sentinel/failover-behind-client-frozen", Sees: check.Exclusion},
	{Why: "a server forgets all while somebody holds: two hold", Cell: "standalone/restarted-empty-client-frozen", Sees: check.Exclusion},
	{Why: "FLUSHALL: two hold", Cell: "standalone/flushall", Sees: check.Exclusion},
	{Why: "DEL of the key: two hold", Cell: "standalone/keys-deleted-client-frozen", Sees: check.Exclusion},
	{Why: "the key is evicted: two hold", Cell: "standalone/evicted-client-frozen", Sees: check.Exclusion},
	{Why: "a holder stops between its last check and its write: an update is lost without a fence", Cell: "standalone/client-frozen/before-write", Sees: check.Careless},
	{Why: "the server's clock jumps forward, so leases end early: two hold", Cell: "clocked/clock-forward", Sees: check.Exclusion},
	{Why: "the server's clock goes faster than the margin allows for: two hold", Cell: "clocked/clock-fast-client-killed", Sees: check.Exclusion},
	{Why: "one node's clock jumps forward under a bare majority: two hold", Cell: "clocked-quorum/node-clock-forward-bare-majority", Sees: check.Exclusion},
	{Why: "the clocks of a majority jump forward: two hold", Cell: "clocked-quorum/majority-clocks-jump", Sees: check.Exclusion},
	{Why: "data is lost and the clock is behind the newest token: tokens fall", Cell: "clocked/flushall-clock-behind", Sees: check.Tokens},
	{Why: "waiters that poll have no order: they are overtaken", Cell: "standalone/none", Peer: client.Recipe, Sees: check.InOrder},
	{Why: "a deadline counted from the answer: two hold", Cell: "standalone/answers-held", Peer: client.RecipeLate, Right: client.Recipe, Sees: check.Exclusion},
	{Why: "a deadline counted from an answer that TCP had to send again: two hold", Cell: "netns/answers-vanish", Peer: client.RecipeLate, Right: client.Recipe, Sees: check.Exclusion},
}

// Can says why this machine can't play a control; nil: it can.
func (c *Control) Can() error {
	cell, err := controlScenario(c.Cell)
	if err != nil {
		return err
	}
	return cell.can()
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
	cell, err := controlScenario(c.Cell)
	if err != nil {
		return o, err
	}
	o.Seed = seed
	s, rules, err := p.history(cell, c.Peer, seed)
	if err != nil {
		return o, err
	}
	o.Grants, o.Seen = len(s.Leases), c.Sees(s, rules)
	if c.Peer == "" {
		o.Behind = append(check.Fence(s, rules), check.Adds(s, rules)...)
	}
	if c.Right != "" {
		if s, rules, err = p.history(cell, c.Right, seed); err != nil {
			return o, err
		}
		o.Behind = append(o.Behind, c.Sees(s, rules)...)
	}
	return o, nil
}

// Controlled plays controls, at places that stay open for the length of a test.
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
func (p *Controlled) history(cell Scenario, peer client.Peer, seed uint64) (*check.Story, check.Rules, error) {
	r := run{scenario: cell, seed: seed, peer: peer, t: p.t, topology: p.topology(cell.Topology), slack: p.slack, random: rand.New(rand.NewPCG(seed, 1))}
	var err error
	if r.dir, err = os.MkdirTemp("", "hfv"); err != nil { // short: a socket is in it
		return nil, check.Rules{}, err
	}
	defer os.RemoveAll(r.dir)
	events, err := r.record()
	if err != nil {
		return nil, check.Rules{}, fmt.Errorf("%v, seed %d: %w", cell, seed, err)
	}
	return check.Read(events), check.Rules{TTL: r.ttl, Slack: r.slack, Calm: cell.Fault.Calm}, nil
}

// controlScenario finds a cell by its name, among those of controls, too.
func controlScenario(name string) (Scenario, error) {
	for _, f := range slices.Concat(faults.All(), faults.Controls()) {
		for _, kind := range topology.Kinds {
			steps := f.Steps
			if len(steps) == 0 {
				steps = []client.Step{""}
			}
			for _, step := range steps {
				if c := (Scenario{kind, &f, step}); f.At(kind) && c.String() == name {
					return c, nil
				}
			}
		}
	}
	return Scenario{}, fmt.Errorf("no cell is called %s", name)
}
