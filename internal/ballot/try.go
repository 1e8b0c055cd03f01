package ballot

import (
	"cmp"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// try is one try to win a name: what each node has answered. It is won when a majority counts
// for one token, lost when no majority can be had any more, and then undone on every node.
type try struct {
	b       *Ballot
	request *Request
	tenure  *tenure
	votes   votes
	over    bool
	timer   clock.Timer // looks whether a majority is still possible
}

// maxSplits is after how many split votes in a row the answer is "held".
const maxSplits = 8

// begin asks each node. An id serves one try: a late unlock of it would else undo a later one.
func (t *try) begin() {
	b, r := t.b, t.request
	t.tenure.try, t.votes = t, newVotes(len(b.nodes), b.need)
	t.timer = clock.Timer{Fire: t.decide}
	args := []string{r.ID, wire.Itoa(max(protocol.TokensPerMicrosecond*r.Wall, b.seen+1)), b.ID, "0"}
	if r.Waits {
		args[3] = wire.Millis(b.afterPoll())
	}
	for i := range b.nodes {
		b.send(i, script.QuorumLock, r.Place, args, r.Sent, b.Attempt, t)
	}
	t.await(r.Sent)
}

// answered takes a node's vote, or its answer to raise.
func (t *try) answered(c *Call, a wire.Answer, err error, now clock.Instant) {
	if c.Script == script.QuorumRaise {
		if !t.isOver() {
			t.votes.raised(c.Node, a, err)
			t.decide(now)
		}
		return
	}
	if err == nil && a.Word == "granted" {
		t.b.saw(a.Base)
	}
	if t.isOver() {
		t.late(c.Node, a, err, now)
		return
	}
	for _, i := range t.votes.take(c.Node, a, err) {
		t.raise(i, now)
	}
	if token := keyspace.TokenOf(a.Holder); err == nil && a.Word == "held" && token > 0 {
		t.b.saw(token)
		t.heldBy(c.Node, keyspace.WithoutToken(a.Holder), now)
	}
	t.decide(now)
}

// heldBy notes that a node names another id as the holder. If a waiter finds the name held by
// this very Client, it does for that tenure what its mark does for those of others: a Client
// does not pause for its own marks.
func (t *try) heldBy(node int, holder string, now clock.Instant) {
	t.b.undoStale(node, holder, now)
	if o := t.b.tenures[holder]; o != nil && o.place != t.request.Place && t.request.Waits {
		o.wanted = now.Add(t.b.afterPoll())
	}
}

// raise asks a node that gave a lower token than T to reserve tokens from T on.
func (t *try) raise(node int, now clock.Instant) {
	args := []string{t.tenure.id, wire.Itoa(t.votes.of[node].token), wire.Itoa(t.votes.token)}
	t.b.send(node, script.QuorumRaise, t.tenure.place, args, now, t.b.Attempt, t)
}

// decide ends the try if it is decided.
func (t *try) decide(now clock.Instant) {
	// Nobody waits for a node that has not answered in its time.
	inTime := func(i int) bool { return now < t.due(t.b.nodes[i]) }
	switch {
	case t.isOver():
	case t.votes.won():
		t.won(now)
	case !t.votes.hopeful(inTime) && t.votes.plain(inTime):
		t.lost(now)
	default:
		t.await(now)
	}
}

// due is until when an answer of the node is waited for. Where the others are no majority, one
// that is silent gets as long as any request.
func (t *try) due(n *node) clock.Instant {
	speaking := 0
	for _, n := range t.b.nodes {
		if !n.silent.Load() {
			speaking++
		}
	}
	switch sent := t.request.Sent; {
	case speaking < t.b.need:
		return sent.Add(t.b.Attempt)
	case n.silent.Load():
		return sent
	default:
		return sent.Add(n.patience(t.b.Attempt))
	}
}

// await sets when to look whether a majority is still possible.
func (t *try) await(now clock.Instant) {
	when := t.request.Sent.Add(t.b.Attempt)
	for i, v := range t.votes.of {
		if v.stand == pending || v.stand == raising {
			if due := t.due(t.b.nodes[i]); due > now {
				when = min(when, due)
			}
		}
	}
	t.b.timers.Set(&t.timer, when)
}

// isOver reports whether the try was decided, or given up.
func (t *try) isOver() bool { return t.over || t.tenure.stand != asked }

// close ends the try, won or lost.
func (t *try) close(now clock.Instant) {
	t.over = true
	t.b.timers.Stop(&t.timer)
	for i, v := range t.votes.of {
		if n := t.b.nodes[i]; v.stand == pending && now >= t.request.Sent.Add(n.patience(t.b.Attempt)) {
			n.silent.Store(true)
		}
	}
}

// giveUp ends a try whose id was undone before it was decided. It is not answered.
func (t *try) giveUp() {
	t.over = true
	t.b.timers.Stop(&t.timer)
}

func (t *try) answer(a wire.Answer, err error, now clock.Instant) {
	t.b.host.Answer(t.request, a, err, now)
}

// won grants the name, unless too little of its ttl is left.
func (t *try) won(now clock.Instant) {
	place, sent := t.tenure.place, t.request.Sent
	t.close(now)
	if left := clock.Deadline(sent, place.TTL).Sub(now); left < place.TTL/3 {
		t.tooLate(now)
		return
	}
	place.splits, place.late = 0, 0
	t.b.saw(t.votes.token)
	t.tenure.stand, t.tenure.token = held, t.votes.token
	t.tenure.confirmed(sent)
	t.answer(wire.Answer{Word: "granted", Base: t.votes.token, Size: protocol.TokenBlock}, nil, now)
}

// tooLate undoes a try that was won too late. Two that follow each other show that the ttl is
// too short for the network. One may have another reason, such as a pause of the process.
func (t *try) tooLate(now clock.Instant) {
	place, word := t.tenure.place, "split"
	t.undo(now)
	if follows := place.late > 0 && now.Sub(place.late) <= 2*t.b.Attempt; follows {
		place.late, word = 0, "too slow"
	} else {
		place.late = now
	}
	t.b.end(t.tenure, now)
	t.answer(wire.Answer{Word: word}, nil, now)
}

// lost undoes the try and answers why it was lost.
func (t *try) lost(now clock.Instant) {
	t.close(now)
	t.undo(now)
	errs, down, refusing := t.votes.denied(t.b.ID)
	spare := len(errs) - t.b.need
	var a wire.Answer
	var denied error = &Denied{Need: t.b.need, Nodes: errs}
	switch {
	case refusing > spare:
		denied = &wire.Final{Sentinel: cmp.Or(versionIn(errs), wire.ErrQuorum), Err: denied}
	case down > spare || t.votes.tooFewServers(errs):
	default:
		a, denied = t.contested(now), nil
	}
	t.b.end(t.tenure, now)
	if denied != nil {
		t.tenure.place.splits, t.tenure.place.late = 0, 0
	}
	t.answer(a, denied, now)
}

// versionIn returns the error of a node on which another version of the protocol uses the name, if
// there is one.
func versionIn(errs []error) error {
	for _, err := range errs {
		if errors.Is(err, wire.ErrVersion) {
			return err
		}
	}
	return nil
}

// contested answers a try that was lost because others have votes, or all.
func (t *try) contested(now clock.Instant) (a wire.Answer) {
	place, random := t.tenure.place, t.b.Random
	holder, most := t.votes.holder()
	if holder != nil {
		a.Holder, a.PTTL = keyspace.WithoutToken(holder.Holder), holder.PTTL
	}
	if most >= t.b.need {
		place.splits = 0
		a.Word, a.PollIn = "held", t.b.pause()
		if a.PTTL >= 0 {
			a.PollIn = min(a.PollIn, a.PTTL+2*time.Millisecond+random(25*time.Millisecond))
		}
		return a
	}
	// The votes are split. The place that tries again first, alone, wins: they are spread over
	// more and more round trips.
	a.Word = "split"
	if place.splits++; place.splits >= maxSplits {
		a.Word = "held"
	}
	trip := max(2*time.Millisecond, min(now.Sub(t.request.Sent), 100*time.Millisecond))
	a.PollIn = random(min(trip<<min(place.splits, 6), place.TTL/2))
	return a
}

// undo takes the id off every node that may have it. Of one that is silent it is not known
// whether it was asked at all before that has come back, see late.
func (t *try) undo(now clock.Instant) {
	id, place := t.tenure.id, t.tenure.place
	for i, v := range t.votes.of {
		if n := t.b.nodes[i]; v.stand == pending && n.silent.Load() {
			n.owes(id, place)
			continue
		}
		sent := v.token > 0 || v.err != ErrNotSent //nolint:errorlint // made here; what was not sent may be a raise
		if v.stand != against && sent {
			t.b.undoOn(i, id, place, now.Add(place.TTL), now)
		}
	}
}

// late takes an answer that came when all was decided. For a tenure that holds, one more node
// has it. Else the vote is undone.
func (t *try) late(node int, a wire.Answer, err error, now clock.Instant) {
	n, id, place := t.b.nodes[node], t.tenure.id, t.tenure.place
	_, refused := wire.AsServerError(err)
	_, owed := n.owed[id]
	delete(n.owed, id)
	switch {
	case t.tenure.stand == held || refused || err == ErrNotSent: //nolint:errorlint // made here: it was not asked
	case err != nil && owed: // it may still run
		t.b.undoOn(node, id, place, now.Add(place.TTL), now)
	case err != nil: // once more: it is repeated since
		t.b.undoOn(node, id, place, now, now)
	case a.Word == "granted":
		t.b.undoOn(node, id, place, now.Add(place.TTL), now)
	}
}

// Denied is the error of a request for which no majority voted. It is in a [wire.Final] if the reasons do
// not pass by themselves.
type Denied struct {
	Need  int     // a majority
	Nodes []error // by the number of the node; nil if it has answered
}

func (e *Denied) Error() string { return "no majority of the nodes has voted" }
