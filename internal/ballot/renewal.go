package ballot

import (
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// renewal is one request to every node: to renew a tenure, or whether it still has the name.
type renewal struct {
	b       *Ballot
	request *Request
	tenure  *tenure
	answers answers
	decided bool
	renewed bool // a majority has it
}

// begin asks every node.
func (p *renewal) begin() {
	b, r := p.b, p.request
	p.answers = newAnswers(len(b.nodes))
	s, args := script.QuorumHeld, []string{r.ID, b.ID}
	if r.Op == Renew {
		s, args = script.QuorumRenew, []string{r.ID, wire.Itoa(p.tenure.token), b.ID}
		p.tenure.expiry = max(p.tenure.expiry, r.Sent.Add(r.Place.TTL))
	}
	for i := range b.nodes {
		b.send(i, s, r.Place, args, r.Sent, r.Attempt, p)
	}
}

func (p *renewal) answered(c *Call, a wire.Answer, err error, now clock.Instant) {
	if c.Script == script.QuorumRepair {
		p.repaired(c, err, now)
		return
	}
	p.answers.take(c.Node, a, err)
	spare := len(p.b.nodes) - p.b.need
	switch {
	case p.renewed:
		p.repair(c.Node, now)
	case p.decided:
	case p.request.Op == Held && p.answers.number(wire.Ours) >= p.b.need:
		p.decide(wire.Answer{Word: wire.Ours, PTTL: p.answers.remaining(2 * protocol.MaxQuorumTTL)}, nil, now)
	case p.answers.number(wire.Renewed) >= p.b.need:
		p.renewed = true
		if now < p.tenure.ends { // else the lease is over: it is not prolonged, and no node is repaired
			p.tenure.prolong(p.request.Sent)
		}
		p.decide(wire.Answer{Word: wire.Renewed}, nil, now)
		for i := range p.b.nodes {
			p.repair(i, now)
		}
	case p.answers.number(wire.Lost) > spare:
		p.lose(now)
	case p.answers.arrived == len(p.b.nodes):
		p.decide(wire.Answer{}, &Denied{Need: p.b.need, Nodes: p.answers.denied(p.b.ID)}, now)
	}
}

func (p *renewal) decide(a wire.Answer, err error, now clock.Instant) {
	p.decided = true
	p.b.host.Answer(p.request, a, err, now)
}

// lose ends a tenure that no majority has. The other nodes may still have it.
func (p *renewal) lose(now clock.Instant) {
	if t := p.tenure; t.phase == held {
		p.b.endTenure(t, now)
		p.b.undoAll(t.id, t.place, true, min(t.expiry, now.Add(t.place.TTL)), now, nil)
	}
	p.decide(wire.Answer{Word: wire.Lost, Holder: p.answers.otherHolder()}, nil, now)
}

// repair gives the lock to a node that lacks it, while the majority has it.
func (p *renewal) repair(node int, now clock.Instant) {
	t := p.tenure
	if a := p.answers.of[node]; a.Word != wire.Lost || a.Holder != "" || t.phase != held || now >= t.ends {
		return
	}
	p.answers.of[node].Word = wire.NoWord // once
	p.b.send(node, script.QuorumRepair, t.place, []string{t.id, wire.Itoa(t.token), p.b.ID}, now, p.b.Attempt, p)
}

// repaired undoes a repair that a node ran after the end of the tenure.
func (p *renewal) repaired(c *Call, err error, now clock.Instant) {
	if _, refused := wire.AsServerError(err); !refused && p.tenure.phase != held {
		p.b.undoOn(c.Node, p.tenure.id, p.tenure.place, now.Add(p.tenure.place.TTL), now)
	}
}
