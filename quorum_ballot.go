package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/script"
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
	votes []vote
	token int64 // T; 0 until a majority has granted
	over  bool
}

// vote is what is known of one node.
type vote struct {
	stand  stand
	token  int64 // that it gave
	answer wire.Answer
	err    error
}

type stand int

const (
	pending stand = iota // lock is on its way
	granted              // L is ours there
	raising              // so it is, with a lower token than T; raise is on its way
	counts               // so it is, and T to T + 63 are reserved
	against              // L is another's, or it may not vote
	failed               // nobody knows
)

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
	b := &ballot{q: q, line: l, t: t, sent: now, votes: make([]vote, len(q.nodes))}
	l.ballot = b
	l.asking = &request{line: l, tenure: t, sent: now}
	args := []string{t.id, itoa(max(2*time.Now().UnixMicro(), q.seen+1)), q.id, "0"}
	if l.callers.waits() {
		args[3] = millis(q.afterPoll())
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
	q, v := b.q, &b.votes[n.number]
	if err == nil && a.Word == "granted" {
		q.seen = max(q.seen, a.Base+tokensOfTurns-1)
	}
	if b.ended() {
		b.late(n, a, err, now)
		return
	}
	v.answer, v.err = a, err
	switch {
	case err != nil:
		v.stand = failed
		if _, refused := wire.AsServerError(err); refused {
			v.stand = against
		}
	case a.Word == "granted":
		v.stand, v.token = granted, a.Base
		b.tally(n, now)
	default:
		v.stand = against
		if token := keyspace.TokenOf(a.Holder); a.Word == "held" && token > 0 {
			q.seen = max(q.seen, token+tokensOfTurns-1)
			q.ghost(n, keyspace.WithoutToken(a.Holder), now)
			q.wants(b.line, keyspace.WithoutToken(a.Holder), now)
		}
	}
	b.decide(now)
}

// tally counts a grant: T is the largest token of the first majority, and who
// gave a lower one is asked to reserve from T.
func (b *ballot) tally(n *node, now clock.Instant) {
	if b.token > 0 {
		b.count(n, now)
		return
	}
	if b.number(granted) < b.q.need {
		return
	}
	for i := range b.votes {
		if b.votes[i].stand == granted {
			b.token = max(b.token, b.votes[i].token)
		}
	}
	for i := range b.votes {
		if b.votes[i].stand == granted {
			b.count(b.q.nodes[i], now)
		}
	}
}

// count lets a node that granted count for T. One that gave a higher token can
// not: it may have given T to another before.
func (b *ballot) count(n *node, now clock.Instant) {
	v := &b.votes[n.number]
	switch {
	case v.token == b.token:
		v.stand = counts
	case v.token < b.token:
		v.stand = raising
		b.q.send(n, script.QuorumRaise, b.line, b.t, now, []string{b.t.id, itoa(v.token), itoa(b.token)}, func(_ *request, a wire.Answer, err error, now clock.Instant) {
			b.raised(n, a, err, now)
		})
	}
}

func (b *ballot) raised(n *node, a wire.Answer, err error, now clock.Instant) {
	if b.ended() {
		return
	}
	v := &b.votes[n.number]
	switch {
	case err == nil && a.Word == "raised":
		v.stand = counts
		v.answer.Run = a.Run
	default:
		v.stand, v.err = failed, err
	}
	b.decide(now)
}

// number is how many servers stand so.
func (b *ballot) number(stands ...stand) int {
	return majority.Distinct(len(b.votes), func(i int) (string, bool) {
		for _, s := range stands {
			if b.votes[i].stand == s {
				return b.votes[i].answer.Run, true
			}
		}
		return "", false
	})
}

// decide ends the ballot if it is decided.
func (b *ballot) decide(now clock.Instant) {
	switch {
	case b.ended():
	case b.token > 0 && b.number(counts) >= b.q.need:
		b.won(now)
	case !b.hopeful(now) && b.plain(now):
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

// hopeful reports whether a majority can still be had. Who has not answered in
// its time is waited for by nobody until it does.
func (b *ballot) hopeful(now clock.Instant) bool {
	may := b.number(granted, raising, counts)
	if b.token > 0 {
		may = b.number(raising, counts)
	}
	for i, v := range b.votes {
		if v.stand != pending && v.stand != raising {
			continue
		}
		n := b.q.nodes[i]
		switch in := now < b.due(n); {
		case in && v.stand == pending:
			may++
		case !in && v.stand == raising:
			may--
		}
	}
	return may >= b.q.need
}

// plain reports whether it is known why no majority can be had: one other has it,
// or nobody is left who may still say so. Errors come faster than answers: two
// of five that are down do not make the name's holder unreachable.
func (b *ballot) plain(now clock.Instant) bool {
	if _, most := b.holder(); most >= b.q.need {
		return true
	}
	for i, v := range b.votes {
		if v.stand == pending && now < b.due(b.q.nodes[i]) {
			return false
		}
	}
	return true
}

// await sets when to look whether the ballot is still hopeful.
func (b *ballot) await(now clock.Instant) {
	when := b.sent.Add(b.q.c.options.attempt())
	for i, v := range b.votes {
		if v.stand == pending || v.stand == raising {
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
	for i, v := range b.votes {
		if n := b.q.nodes[i]; v.stand == pending && now >= b.sent.Add(n.patience(&b.q.c.options)) {
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
	b.q.seen = max(b.q.seen, b.token+tokensOfTurns-1)
	t.token = b.token
	t.tokens = tokens.From(b.token, tokensOfTurns)
	// Nobody can recall it: it serves who stands in line now, and goes.
	t.until = max(1, l.numbers)
	if w := l.callers.first; w != nil {
		t.until = min(t.until, w.number+tokensOfTurns-1)
	}
	c.granted(t, grant{base: b.token, start: b.sent, life: life, heard: true}, now)
}

// lost undoes the ballot and decides what its answers mean for the callers.
func (b *ballot) lost(now clock.Instant) {
	l, q := b.line, b.q
	b.close(now)
	b.undo(now)
	denied := &QuorumError{Need: q.need, Nodes: make([]error, len(b.votes))}
	down, refusing := 0, 0
	for i, v := range b.votes {
		final, err := q.denial(v.answer, v.err)
		if v.stand == pending {
			err = wire.ErrNoAnswer
		}
		denied.Nodes[i] = err
		if err != nil {
			down++
		}
		if final {
			refusing++
		}
	}
	spare := len(b.votes) - q.need
	switch {
	case refusing > spare:
		l.failing = 0
		l.reject(wire.Failure(l.name, ErrQuorum, denied))
	case down > spare || b.onePlace(denied):
		l.failed(denied, b.sent, now)
	default:
		b.contested(now)
		return
	}
	l.contest = contest{}
	b.again(now)
}

// onePlace reports whether the nodes that answered are fewer servers than that.
func (b *ballot) onePlace(denied *QuorumError) bool {
	answered := func(i int) (string, bool) { return b.votes[i].answer.Run, b.votes[i].answer.Run != "" }
	if majority.Distinct(len(b.votes), answered) >= b.q.need {
		return false
	}
	for i := range b.votes {
		for k := range i {
			if run, ok := answered(i); ok && run == b.votes[k].answer.Run {
				denied.Nodes[i] = &sameServer{k + 1}
			}
		}
	}
	return true
}

// contested: others have votes, or all.
func (b *ballot) contested(now clock.Instant) {
	l, q := b.line, b.q
	l.failing = 0
	holder, most := b.holder()
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

// holder is the answer of a node that names who has most votes, and how many.
func (b *ballot) holder() (held *wire.Answer, most int) {
	for i := range b.votes {
		v := &b.votes[i].answer
		if b.votes[i].stand != against || v.Word != "held" {
			continue
		}
		whose := keyspace.WithoutToken(v.Holder)
		n := majority.Distinct(len(b.votes), func(k int) (string, bool) {
			o := &b.votes[k].answer
			return o.Run, b.votes[k].stand == against && o.Word == "held" && keyspace.WithoutToken(o.Holder) == whose
		})
		if n > most || n == most && held != nil && v.PTTL > held.PTTL {
			held, most = v, n
		}
	}
	return held, most
}

// undo takes the id off every node that may have it. Of one that is silent it is not known
// whether it was asked at all before that has come back, see late.
func (b *ballot) undo(now clock.Instant) {
	for i, v := range b.votes {
		if n := b.q.nodes[i]; v.stand == pending && n.silent.Load() {
			n.owes(b.t.id, b.line)
			continue
		}
		sent := v.token > 0 || v.err != errSilent //nolint:errorlint // made here; what was not sent may be a raise
		if v.stand != against && sent {
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
