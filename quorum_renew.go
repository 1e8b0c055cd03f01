package holdfast

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/tally"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// renewal is one renewal of a tenure, asked of every node.
type renewal struct {
	q         *quorum
	r         *request // stands for all of them
	answers   tally.Answers
	decided   bool
	held      bool // a majority has it
	checkOnly bool // nothing is prolonged
}

// renew asks every node to prolong a tenure. The deadline moves when a majority
// did, counted from before the first was asked.
func (q *quorum) renew(n *localName, t *tenure, now clock.Instant, attempt time.Duration) *request {
	p := &renewal{q: q, answers: tally.NewAnswers(len(q.nodes))}
	p.r = &request{local: n, tenure: t, sent: now, attempt: attempt, onAnswer: (*request).renewAnswered}
	p.ask(script.QuorumRenew, []string{t.id, itoa(t.quorumToken), q.id})
	return p.r
}

// check asks every node whether a tenure has the name, and prolongs nothing.
func (q *quorum) check(n *localName, t *tenure, now clock.Instant, attempt time.Duration) *request {
	p := &renewal{q: q, answers: tally.NewAnswers(len(q.nodes)), checkOnly: true}
	p.r = &request{local: n, tenure: t, sent: now, attempt: attempt, onAnswer: (*request).checkAnswered}
	p.ask(script.QuorumHeld, []string{t.id, q.id})
	return p.r
}

func (p *renewal) ask(s *driver.Script, args []string) {
	for _, n := range p.q.nodes {
		p.q.send(n, s, p.r.local, p.r.tenure, p.r.sent, args, func(_ *request, a wire.Answer, err error, now clock.Instant) {
			p.answered(n, a, err, now)
		}).attempt = p.r.attempt
	}
}

func (p *renewal) answered(n *node, a wire.Answer, err error, now clock.Instant) {
	p.answers.Take(n.number, a, err)
	if p.held {
		p.repair(n, now)
		return
	}
	if p.decided {
		return
	}
	spare := len(p.q.nodes) - p.q.need
	switch {
	case p.checkOnly && p.answers.Number("ours") >= p.q.need:
		p.decided = true
		p.r.onAnswer(p.r, wire.Answer{Word: "ours", PTTL: p.answers.Shortest(p.q.p.ttl + protocol.MaxQuorumTTL)}, nil, now)
	case p.answers.Number("renewed") >= p.q.need:
		p.decided, p.held = true, true
		p.r.onAnswer(p.r, wire.Answer{Word: "renewed"}, nil, now)
		for _, n := range p.q.nodes {
			p.repair(n, now)
		}
	case p.answers.Number("lost") > spare:
		p.decided = true
		p.r.onAnswer(p.r, wire.Answer{Word: "lost", Holder: p.answers.Taker()}, nil, now)
	case p.answers.Came == len(p.q.nodes):
		p.decided = true
		p.r.onAnswer(p.r, wire.Answer{}, &minority{need: p.q.need, nodes: p.answers.Denied(p.q.id)}, now)
	}
}

// repair gives the lock to a node that lacks it, while the majority has it.
func (p *renewal) repair(n *node, now clock.Instant) {
	q, local, t := p.q, p.r.local, p.r.tenure
	if a := p.answers.Of[n.number]; a.Word != "lost" || a.Holder != "" || t.phase != holding || t.isOver(now) {
		return
	}
	p.answers.Of[n.number].Word = "" // once
	q.send(n, script.QuorumRepair, local, t, now, []string{t.id, itoa(t.quorumToken), q.id}, func(_ *request, _ wire.Answer, err error, now clock.Instant) {
		_, refused := wire.AsServerError(err)
		if !refused && t.phase != holding && t.phase != over { // it came too late
			q.cleanUpOn(n, t.id, local, now, now.Add(local.ttl()))
		}
	})
}

// nodeReleases is the end of a tenure: which nodes have answered unlock.
type nodeReleases struct {
	runs []string
	done []bool
	owed []bool // of the newest round: nodes that it may not have reached
	open int    // requests of the newest round that have not come back
	err  error
}

// release sends unlock to the nodes that have not answered it yet. The name is
// released when a majority has; the rest is repeated in the background.
func (q *quorum) release(local *localName, now clock.Instant) {
	t := local.tenure
	if t.nodeReleases == nil {
		t.nodeReleases = &nodeReleases{runs: make([]string, len(q.nodes)), done: make([]bool, len(q.nodes)), owed: make([]bool, len(q.nodes))}
	}
	f := t.nodeReleases
	round := &request{local: local, tenure: t, sent: now, attempt: q.p.attempt()}
	local.unlocking, local.askAt, f.open, f.err = round, 0, 0, nil
	args := q.unlockArgs(t.id)
	for i, n := range q.nodes {
		if f.done[i] {
			continue
		}
		f.open++
		f.owed[i] = false
		q.send(n, script.QuorumUnlock, local, t, now, args, func(_ *request, a wire.Answer, err error, now clock.Instant) {
			q.released(n, round, a, err, now)
		})
	}
}

// released takes a node's answer to unlock. "not held" counts as released.
func (q *quorum) released(n *node, round *request, a wire.Answer, err error, now clock.Instant) {
	local, t := round.local, round.tenure
	f := t.nodeReleases
	if err == nil {
		f.done[n.number], f.runs[n.number] = true, a.Run
		q.yield(local, a, now)
	}
	if local.tenure != t || t.phase != releasing { // the others have sufficed
		f.owed[n.number] = err != nil && wire.Transient(err)
		q.owe(t, now)
		return
	}
	if err != nil && local.unlocking == round {
		f.err, f.owed[n.number] = err, wire.Transient(err)
	}
	if majority.Distinct(len(f.done), func(i int) (string, bool) { return f.runs[i], f.done[i] }) >= q.need || !slices.Contains(f.done, false) {
		local.released(nil, now)
		q.owe(t, now)
		local.askAt = q.yields[local.name]
		local.step(now)
		return
	}
	if local.unlocking != round {
		return
	}
	if f.open--; f.open > 0 {
		return
	}
	local.unlocking = nil
	if !wire.Transient(f.err) {
		local.finishRelease(wire.Failure(local.name, wire.ErrUnknown, f.err))
	}
	local.unlockFailed(cmp.Or(f.err, wire.ErrNoAnswer), round.sent, now)
	local.arm(now)
}

// owe repeats unlock, in the background, on the nodes that were left owed it.
func (q *quorum) owe(t *tenure, now clock.Instant) {
	f := t.nodeReleases
	for i, n := range q.nodes {
		if f.owed[i] && !f.done[i] && now < t.expiry {
			q.cleanUpOn(n, t.id, t.local, now, t.expiry)
		}
		f.owed[i] = false
	}
}
