package ballot

import (
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// renewal is one renewal of a tenure, or the question whether it has the name, asked of every
// node.
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
	if r.Kind == Renew {
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
	case p.request.Kind == Held && p.answers.number("ours") >= p.b.need:
		p.decide(wire.Answer{Word: "ours", PTTL: p.answers.shortest(2 * protocol.MaxQuorumTTL)}, nil, now)
	case p.answers.number("renewed") >= p.b.need:
		p.renewed = true
		if now < p.tenure.ends { // else the lease is over: it is not prolonged, and no node gets it again
			p.tenure.confirmed(p.request.Sent)
		}
		p.decide(wire.Answer{Word: "renewed"}, nil, now)
		for i := range p.b.nodes {
			p.repair(i, now)
		}
	case p.answers.number("lost") > spare:
		p.lost(now)
	case p.answers.came == len(p.b.nodes):
		p.decide(wire.Answer{}, &Denied{Need: p.b.need, Nodes: p.answers.denied(p.b.ID)}, now)
	}
}

func (p *renewal) decide(a wire.Answer, err error, now clock.Instant) {
	p.decided = true
	p.b.host.Answer(p.request, a, err, now)
}

// lost ends a tenure that a majority does not have: a minority may still have it.
func (p *renewal) lost(now clock.Instant) {
	if t := p.tenure; t.stand == held {
		p.b.end(t, now)
		p.b.undoAll(t.id, t.place, true, min(t.expiry, now.Add(t.place.TTL)), now, nil)
	}
	p.decide(wire.Answer{Word: "lost", Holder: p.answers.taker()}, nil, now)
}

// repair gives the lock to a node that lacks it, while the majority has it.
func (p *renewal) repair(node int, now clock.Instant) {
	t := p.tenure
	if a := p.answers.of[node]; a.Word != "lost" || a.Holder != "" || t.stand != held || now >= t.ends {
		return
	}
	p.answers.of[node].Word = "" // once
	p.b.send(node, script.QuorumRepair, t.place, []string{t.id, wire.Itoa(t.token), p.b.ID}, now, p.b.Attempt, p)
}

// repaired undoes a repair that came too late.
func (p *renewal) repaired(c *Call, err error, now clock.Instant) {
	if _, refused := wire.AsServerError(err); !refused && p.tenure.stand != held {
		p.b.undoOn(c.Node, p.tenure.id, p.tenure.place, now.Add(p.tenure.place.TTL), now)
	}
}
