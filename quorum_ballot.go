package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/tally"
	"github.com/holdfast-go/holdfast/internal/tokens"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ballot is one try to win a name on a quorum, under an id of its own: what each
// node answered. It is won when a majority counts for one token, lost when no
// majority can be had any more, and then undone on every node.
type ballot struct {
	q     *quorum
	line  *line
	t     *tenure
	sent  clock.Instant // before any node was asked: the start of the lease
	votes tally.Votes
	over  bool
}

// contest is how the tries of a line went.
type contest struct {
	splits int           // in a row, where nobody was seen to hold a majority
	late   clock.Instant // when the newest was won with too little life left; 0: none
}

// tokensOfTurns is what each node reserves for a tenure: as many callers have a
// turn at most.
const tokensOfTurns = 64

// maxSplits is after how many split votes a TryLock says held.
const maxSplits = 8

// ask begins a try. An id serves one try: a late release of it would else undo a
// later one.
func (q *quorum) ask(l *line, now clock.Instant) {
	if l.asking != nil || now < l.askAt {
		return
	}
	if l.tenure.first != 0 {
		q.c.end(l.tenure, now)
		l.tenure = q.c.newTenure(l)
	}
	t := l.tenure
	t.first, t.open = now, 1
	l.askAt = 0
	b := &ballot{q: q, line: l, t: t, sent: now, votes: tally.New(len(q.nodes), q.need)}
	l.ballot = b
	l.asking = &request{line: l, tenure: t, sent: now}
	args := []string{t.id, itoa(max(2*time.Now().UnixMicro(), q.seen+1)), q.id, "0"}
	if l.callers.waits() {
		args[3] = wire.Millis(q.afterPoll())
	}
	for _, n := range q.nodes {
		q.send(n, script.QuorumLock, l, t, now, args, func(_ *request, a wire.Answer, err error, now clock.Instant) {
			b.answered(n, a, err, now)
		})
	}
	b.await(now)
}

// answered takes a node's vote.
func (b *ballot) answered(n *node, a wire.Answer, err error, now clock.Instant) {
	q := b.q
	if err == nil && a.Word == "granted" {
		q.seen = max(q.seen, a.Base+tokensOfTurns-1)
	}
	if b.ended() {
		b.late(n, a, err, now)
		return
	}
	for _, i := range b.votes.Take(n.number, a, err) {
		b.raise(q.nodes[i], now)
	}
	if token := keyspace.TokenOf(a.Holder); err == nil && a.Word == "held" && token > 0 {
		q.seen = max(q.seen, token+tokensOfTurns-1)
		q.ghost(n, keyspace.WithoutToken(a.Holder), now)
		q.wants(b.line, keyspace.WithoutToken(a.Holder), now)
	}
	b.decide(now)
}

// raise asks a node that gave a lower token than T to reserve tokens from T on.
func (b *ballot) raise(n *node, now clock.Instant) {
	args := []string{b.t.id, itoa(b.votes.Of[n.number].Token), itoa(b.votes.Token)}
	b.q.send(n, script.QuorumRaise, b.line, b.t, now, args, func(_ *request, a wire.Answer, err error, now clock.Instant) {
		if !b.ended() {
			b.votes.Raised(n.number, a, err)
			b.decide(now)
		}
	})
}

// decide ends the ballot if it is decided.
func (b *ballot) decide(now clock.Instant) {
	// Nobody waits for a node that has not answered in its time.
	inTime := func(i int) bool { return now < b.due(b.q.nodes[i]) }
	switch {
	case b.ended():
	case b.votes.Won():
		b.won(now)
	case !b.votes.Hopeful(inTime) && b.votes.Plain(inTime):
		b.lost(now)
	default:
		b.await(now)
		b.line.arm(now)
	}
}

// due is until when an answer of the node is waited for. Where the others are
// no majority, one that is silent gets as long as any request.
func (b *ballot) due(n *node) clock.Instant {
	o := &b.q.c.options
	speaking := 0
	for _, n := range b.q.nodes {
		if !n.silent.Load() {
			speaking++
		}
	}
	switch {
	case speaking < b.q.need:
		return b.sent.Add(o.attempt())
	case n.silent.Load():
		return b.sent
	}
	return b.sent.Add(n.patience(o))
}

// await sets when to look whether the ballot is still hopeful.
func (b *ballot) await(now clock.Instant) {
	when := b.sent.Add(b.q.c.options.attempt())
	for i, v := range b.votes.Of {
		if v.Stand == tally.Pending || v.Stand == tally.Raising {
			if due := b.due(b.q.nodes[i]); due > now {
				when = min(when, due)
			}
		}
	}
	b.line.asking.attempt = when.Sub(b.sent)
}

// ended reports whether the ballot was decided, or its callers gave up.
func (b *ballot) ended() bool {
	b.over = b.over || b.t.phase != asked
	return b.over
}

// close ends the ballot, won or lost.
func (b *ballot) close(now clock.Instant) {
	b.over = true
	b.t.open = 0
	b.line.asking, b.line.ballot = nil, nil
	for i, v := range b.votes.Of {
		if n := b.q.nodes[i]; v.Stand == tally.Pending && now >= b.sent.Add(n.patience(&b.q.c.options)) {
			n.silent.Store(true)
		}
	}
}

// won begins the tenure, unless too little of its life is left.
func (b *ballot) won(now clock.Instant) {
	l, t, c := b.line, b.t, b.q.c
	life := l.ttl()
	b.close(now)
	if left := clock.Deadline(b.sent, life).Sub(now); left < life/3 {
		b.undo(now)
		follows := l.contest.late > 0 && now.Sub(l.contest.late) <= c.options.retryWindow()
		if l.contest.late = now; follows {
			l.contest.late = 0
			l.tooSlow(now, now.Sub(b.sent))
			return
		}
		b.again(now)
		return
	}
	l.contest = contest{}
	b.q.seen = max(b.q.seen, b.votes.Token+tokensOfTurns-1)
	t.token = b.votes.Token
	t.tokens = tokens.From(b.votes.Token, tokensOfTurns)
	// Nobody can recall it: it serves who stands in line now, and goes.
	t.until = max(1, l.numbers)
	if w := l.callers.first; w != nil {
		t.until = min(t.until, w.number+tokensOfTurns-1)
	}
	c.granted(t, grant{base: b.votes.Token, start: b.sent, life: life, heard: true}, now)
}

// lost undoes the ballot and decides what its answers mean for the callers.
func (b *ballot) lost(now clock.Instant) {
	l, q := b.line, b.q
	b.close(now)
	b.undo(now)
	errs, down, refusing := b.votes.Denied(q.id)
	denied := &QuorumError{Need: q.need, Nodes: errs}
	spare := len(errs) - q.need
	switch {
	case refusing > spare:
		l.failing = 0
		l.reject(wire.Failure(l.name, ErrQuorum, denied))
	case down > spare || b.votes.OnePlace(errs):
		l.failed(denied, b.sent, now)
	default:
		b.contested(now)
		return
	}
	l.contest = contest{}
	b.again(now)
}

// contested: others have votes, or all.
func (b *ballot) contested(now clock.Instant) {
	l, q := b.line, b.q
	l.failing = 0
	holder, most := b.votes.Holder()
	if holder != nil {
		l.seen = seenIn(*holder, now)
		l.seen.holder = keyspace.WithoutToken(holder.Holder)
		l.c.emit(Queued{Name: l.name, Holder: labelOf(l.seen.holder), Remaining: holder.PTTL})
	}
	if most >= q.need {
		l.contest.splits = 0
		l.rejectTries(now)
		l.askAt = now.Add(q.pause())
		if holder.PTTL >= 0 {
			l.askAt = min(l.askAt, now.Add(holder.PTTL+2*time.Millisecond+q.c.jitter(25*time.Millisecond)))
		}
	} else {
		// The votes are split. Who comes back first, alone, wins: spread over
		// more and more round trips.
		l.contest.splits++
		if l.contest.splits >= maxSplits {
			l.rejectTries(now)
		}
		trip := max(2*time.Millisecond, min(now.Sub(b.sent), 100*time.Millisecond))
		spread := min(trip<<min(l.contest.splits, 6), l.ttl()/2)
		l.askAt = now.Add(q.c.jitter(spread))
	}
	b.again(now)
}

// undo takes the id off every node that may have it. Of one that is silent it is not known
// whether it was asked at all before that has come back, see late.
func (b *ballot) undo(now clock.Instant) {
	for i, v := range b.votes.Of {
		if n := b.q.nodes[i]; v.Stand == tally.Pending && n.silent.Load() {
			n.owes(b.t.id, b.line)
			continue
		}
		sent := v.Token > 0 || v.Err != errSilent //nolint:errorlint // made here; what was not sent may be a raise
		if v.Stand != tally.Against && sent {
			b.q.undoOn(b.q.nodes[i], b.t.id, b.line, now, now.Add(b.line.ttl()))
		}
	}
}

// again puts a fresh id in the place of this one, and goes on.
func (b *ballot) again(now clock.Instant) {
	l := b.line
	b.q.c.end(b.t, now)
	l.step(now)
}

// late takes an answer that came when all was decided. A tenure that holds is
// glad of one more node; else it is undone.
func (b *ballot) late(n *node, a wire.Answer, err error, now clock.Instant) {
	holds := b.t.phase == holding || b.t.phase == over
	_, refused := wire.AsServerError(err)
	owed := n.owed[b.t.id] != nil
	delete(n.owed, b.t.id)
	switch {
	case holds || refused || err == errSilent: //nolint:errorlint // made here: it was not asked
	case err != nil && owed: // it may still run
		b.q.undoOn(n, b.t.id, b.line, now, now.Add(b.line.ttl()))
	case err != nil: // once more, besides what is repeated since
		b.q.undoOn(n, b.t.id, b.line, now, now)
	case a.Word == "granted":
		b.q.undoOn(n, b.t.id, b.line, now, now.Add(b.line.ttl()))
	}
}
