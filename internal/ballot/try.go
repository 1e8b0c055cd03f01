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

// try is one try to win a name. It is won when a majority counts for one token. It is lost when no
// majority is possible any more; then its id is removed from every node.
type try struct {
	b       *Ballot
	request *Request
	tenure  *tenure
	votes   votes
	over    bool
	timer   clock.Timer // checks whether a majority is still possible
}

// maxSplits is the number of split votes in a row after which the answer is "held".
const maxSplits = 8

// begin asks each node. Each try has its own id: a late unlock of one try must not undo a later
// try.
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
	if err == nil && a.Word == wire.Granted {
		t.b.noteToken(a.Base)
	}
	if t.isOver() {
		t.late(c.Node, a, err, now)
		return
	}
	for _, i := range t.votes.take(c.Node, a, err) {
		t.raise(i, now)
	}
	if token := keyspace.TokenOf(a.Holder); err == nil && a.Word == wire.Held && token > 0 {
		t.b.noteToken(token)
		t.heldBy(c.Node, keyspace.WithoutToken(a.Holder), now)
	}
	t.decide(now)
}

// heldBy notes that a node names another id as the holder. If that id is a tenure of this Client,
// a waiter notes in the tenure that it wants the name. The mark on the nodes does that only for
// other Clients: a Client does not pause for its own marks.
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
	// The try does not wait for a node after its patience.
	inTime := func(i int) bool { return now < t.due(t.b.nodes[i]) }
	switch {
	case t.isOver():
	case t.votes.won():
		t.win(now)
	case !t.votes.winnable(inTime) && t.votes.reasonKnown(inTime):
		t.lose(now)
	default:
		t.await(now)
	}
}

// due returns until when the try waits for the answer of a node. If the nodes that are not silent
// are no majority, a silent one gets as long as any request.
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

// await sets the time of the next check whether a majority is still possible.
func (t *try) await(now clock.Instant) {
	when := t.request.Sent.Add(t.b.Attempt)
	for i, v := range t.votes.of {
		if v.state == pending || v.state == raising {
			if due := t.due(t.b.nodes[i]); due > now {
				when = min(when, due)
			}
		}
	}
	t.b.timers.Set(&t.timer, when)
}

// isOver reports whether the try was decided, or given up.
func (t *try) isOver() bool { return t.over || t.tenure.phase != asked }

// settle ends the try, won or lost.
func (t *try) settle(now clock.Instant) {
	t.over = true
	t.b.timers.Stop(&t.timer)
	for i, v := range t.votes.of {
		if n := t.b.nodes[i]; v.state == pending && now >= t.request.Sent.Add(n.patience(t.b.Attempt)) {
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

// win grants the name, unless too little of its ttl is left.
func (t *try) win(now clock.Instant) {
	place, sent := t.tenure.place, t.request.Sent
	t.settle(now)
	if left := clock.Deadline(sent, place.TTL).Sub(now); left < place.TTL/3 {
		t.tooLate(now)
		return
	}
	place.splits, place.late = 0, 0
	t.b.noteToken(t.votes.token)
	t.tenure.phase, t.tenure.token = held, t.votes.token
	t.tenure.prolong(sent)
	t.answer(wire.Answer{Word: wire.Granted, Base: t.votes.token, Size: protocol.TokenBlock}, nil, now)
}

// tooLate undoes a try that was won too late. Two that follow each other show that the ttl is
// too short for the network. One may have another reason, such as a pause of the process.
func (t *try) tooLate(now clock.Instant) {
	place, word := t.tenure.place, wire.Split
	t.undo(now)
	if follows := place.late > 0 && now.Sub(place.late) <= 2*t.b.Attempt; follows {
		place.late, word = 0, wire.TooSlow
	} else {
		place.late = now
	}
	t.b.endTenure(t.tenure, now)
	t.answer(wire.Answer{Word: word}, nil, now)
}

// lose undoes the try and answers why it was lost.
func (t *try) lose(now clock.Instant) {
	t.settle(now)
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
	t.b.endTenure(t.tenure, now)
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

// contested returns the answer to a try that was lost because other ids have votes.
func (t *try) contested(now clock.Instant) (a wire.Answer) {
	place, random := t.tenure.place, t.b.Random
	holder, most := t.votes.holder()
	if holder != nil {
		a.Holder, a.PTTL = keyspace.WithoutToken(holder.Holder), holder.PTTL
	}
	if most >= t.b.need {
		place.splits = 0
		a.Word, a.PollIn = wire.Held, t.b.pause()
		if a.PTTL >= 0 {
			a.PollIn = min(a.PollIn, a.PTTL+2*time.Millisecond+random(25*time.Millisecond))
		}
		return a
	}
	// The votes are split. A place that tries again alone wins. So the places spread their next
	// tries over more and more round trips.
	a.Word = wire.Split
	if place.splits++; place.splits >= maxSplits {
		a.Word = wire.Held
	}
	trip := max(2*time.Millisecond, min(now.Sub(t.request.Sent), 100*time.Millisecond))
	a.PollIn = random(min(trip<<min(place.splits, 6), place.TTL/2))
	return a
}

// undo removes the id from every node that may have it. A silent node may not have got the lock
// yet: late removes the id when the result of that call has come.
func (t *try) undo(now clock.Instant) {
	id, place := t.tenure.id, t.tenure.place
	for i, v := range t.votes.of {
		if n := t.b.nodes[i]; v.state == pending && n.silent.Load() {
			n.owe(id, place)
			continue
		}
		sent := v.token > 0 || v.err != ErrNotSent //nolint:errorlint // made here; what was not sent may be a raise
		if v.state != against && sent {
			t.b.undoOn(i, id, place, now.Add(place.TTL), now)
		}
	}
}

// late takes an answer that came after the try was decided. If the tenure holds the name, one more
// node has it. Otherwise late removes the id from the node.
func (t *try) late(node int, a wire.Answer, err error, now clock.Instant) {
	n, id, place := t.b.nodes[node], t.tenure.id, t.tenure.place
	_, refused := wire.AsServerError(err)
	_, owed := n.owed[id]
	delete(n.owed, id)
	switch {
	case t.tenure.phase == held || refused || err == ErrNotSent: //nolint:errorlint // made here: it was not asked
	case err != nil && owed: // the lock may still run
		t.b.undoOn(node, id, place, now.Add(place.TTL), now)
	case err != nil: // once is enough: undo has sent it before, and repeats it
		t.b.undoOn(node, id, place, now, now)
	case a.Word == wire.Granted:
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
