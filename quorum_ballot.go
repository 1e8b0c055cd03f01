package holdfast

import (
	"cmp"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
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
	local *localName
	t     *tenure
	sent  clock.Instant // before any node was asked: the start of the lease
	votes tally.Votes
	over  bool
}

// ballotHistory is how the ballots of a local name went.
type ballotHistory struct {
	splits int           // in a row, where nobody was seen to hold a majority
	late   clock.Instant // when the newest was won with too little ttl left; 0: none
}

// maxSplits is after how many split votes a TryLock says held.
const maxSplits = 8

// ask begins a try. An id serves one try: a late release of it would else undo a
// later one.
func (q *quorum) ask(local *localName, now clock.Instant) {
	if local.asking != nil || now < local.askAt {
		return
	}
	if local.tenure.firstSent != 0 {
		q.p.end(local.tenure, now)
		local.tenure = q.p.newTenure(local)
	}
	t := local.tenure
	t.firstSent, t.openLocks = now, 1
	local.askAt = 0
	b := &ballot{q: q, local: local, t: t, sent: now, votes: tally.New(len(q.nodes), q.need)}
	local.ballot = b
	local.asking = &request{local: local, tenure: t, sent: now}
	args := []string{t.id, itoa(max(protocol.TokensPerMicrosecond*q.p.wall(), q.newestToken+1)), q.id, "0"}
	if local.waiters.anyBlocking() {
		args[3] = wire.Millis(q.afterPoll())
	}
	for _, n := range q.nodes {
		q.send(n, script.QuorumLock, local, t, now, args, func(_ *request, a wire.Answer, err error, now clock.Instant) {
			b.answered(n, a, err, now)
		})
	}
	b.await(now)
}

// answered takes a node's vote.
func (b *ballot) answered(n *node, a wire.Answer, err error, now clock.Instant) {
	q := b.q
	if err == nil && a.Word == "granted" {
		q.newestToken = max(q.newestToken, a.Base+protocol.TokenBlock-1)
	}
	if b.ended() {
		b.lateAnswer(n, a, err, now)
		return
	}
	for _, i := range b.votes.Take(n.number, a, err) {
		b.raise(q.nodes[i], now)
	}
	if token := keyspace.TokenOf(a.Holder); err == nil && a.Word == "held" && token > 0 {
		q.newestToken = max(q.newestToken, token+protocol.TokenBlock-1)
		q.cancelStaleID(n, keyspace.WithoutToken(a.Holder), now)
		q.noteWanted(b.local, keyspace.WithoutToken(a.Holder), now)
	}
	b.decide(now)
}

// raise asks a node that gave a lower token than the ballot's to reserve tokens from there.
func (b *ballot) raise(n *node, now clock.Instant) {
	args := []string{b.t.id, itoa(b.votes.Of[n.number].Token), itoa(b.votes.Token)}
	b.q.send(n, script.QuorumRaise, b.local, b.t, now, args, func(_ *request, a wire.Answer, err error, now clock.Instant) {
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
		b.local.arm(now)
	}
}

// due is until when an answer of the node is waited for. Where the others are
// no majority, one that is silent gets as long as any request.
func (b *ballot) due(n *node) clock.Instant {
	o := &b.q.p.settings
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

// await sets when to check whether the ballot is still hopeful.
func (b *ballot) await(now clock.Instant) {
	when := b.sent.Add(b.q.p.attempt())
	for i, v := range b.votes.Of {
		if v.Stand == tally.Pending || v.Stand == tally.Raising {
			if due := b.due(b.q.nodes[i]); due > now {
				when = min(when, due)
			}
		}
	}
	b.local.asking.attempt = when.Sub(b.sent)
}

// ended reports whether the ballot was decided, or its callers gave up.
func (b *ballot) ended() bool {
	b.over = b.over || b.t.phase != asked
	return b.over
}

// close ends the ballot, won or lost.
func (b *ballot) close(now clock.Instant) {
	b.over = true
	b.t.openLocks = 0
	b.local.asking, b.local.ballot = nil, nil
	for i, v := range b.votes.Of {
		if n := b.q.nodes[i]; v.Stand == tally.Pending && now >= b.sent.Add(n.patience(&b.q.p.settings)) {
			n.silent.Store(true)
		}
	}
}

// won begins the tenure, unless too little of its ttl is left.
func (b *ballot) won(now clock.Instant) {
	n, t, c := b.local, b.t, b.q.p
	ttl := n.ttl()
	b.close(now)
	if left := clock.Deadline(b.sent, ttl).Sub(now); left < ttl/3 {
		b.cleanUp(now)
		follows := n.ballots.late > 0 && now.Sub(n.ballots.late) <= c.retryWindow()
		if n.ballots.late = now; follows {
			n.ballots.late = 0
			n.tooSlow(now, now.Sub(b.sent))
			return
		}
		b.retry(now)
		return
	}
	n.ballots = ballotHistory{}
	b.q.newestToken = max(b.q.newestToken, b.votes.Token+protocol.TokenBlock-1)
	t.quorumToken = b.votes.Token
	t.tokens = tokens.From(b.votes.Token, protocol.TokenBlock)
	// Nobody can recall it: it serves the present local waiters, and goes.
	t.servesUpTo = max(1, n.admitted)
	if w := n.waiters.first; w != nil {
		t.servesUpTo = min(t.servesUpTo, w.number+protocol.TokenBlock-1)
	}
	c.granted(t, grant{base: b.votes.Token, start: b.sent, ttl: ttl, recallSure: true}, now)
}

// lost undoes the ballot and decides what its answers mean for the callers.
func (b *ballot) lost(now clock.Instant) {
	n, q := b.local, b.q
	b.close(now)
	b.cleanUp(now)
	errs, down, refusing := b.votes.Denied(q.id)
	denied := &minority{need: q.need, nodes: errs}
	spare := len(errs) - q.need
	switch {
	case refusing > spare:
		n.failingSince = 0
		n.reject(wire.Failure(n.name, cmp.Or(versionIn(errs), wire.ErrQuorum), denied))
	case down > spare || b.votes.OnePlace(errs):
		n.failed(denied, b.sent, now)
	default:
		b.contested(now)
		return
	}
	n.ballots = ballotHistory{}
	b.retry(now)
}

// contested: others have votes, or all.
func (b *ballot) contested(now clock.Instant) {
	n, q := b.local, b.q
	n.failingSince = 0
	holder, votes := b.votes.Holder()
	if holder != nil {
		n.seen = seenIn(*holder, now)
		n.seen.holder = keyspace.WithoutToken(holder.Holder)
		n.p.host.note(event{what: queueing, name: n.name, holder: labelOf(n.seen.holder), remaining: holder.PTTL})
	}
	if votes >= q.need {
		n.ballots.splits = 0
		n.rejectTries(now)
		n.askAt = now.Add(q.pause())
		if holder.PTTL >= 0 {
			n.askAt = min(n.askAt, now.Add(holder.PTTL+2*time.Millisecond+q.p.jitter(25*time.Millisecond)))
		}
	} else {
		// The votes are split. The first client that comes back alone wins: spread
		// over more and more round trips.
		n.ballots.splits++
		if n.ballots.splits >= maxSplits {
			n.rejectTries(now)
		}
		trip := max(2*time.Millisecond, min(now.Sub(b.sent), 100*time.Millisecond))
		spread := min(trip<<min(n.ballots.splits, 6), n.ttl()/2)
		n.askAt = now.Add(q.p.jitter(spread))
	}
	b.retry(now)
}

// cleanUp takes the id off every node that may have it. Of one that is silent it is not known
// whether it was asked at all before that has come back, see lateAnswer.
func (b *ballot) cleanUp(now clock.Instant) {
	for i, v := range b.votes.Of {
		if n := b.q.nodes[i]; v.Stand == tally.Pending && n.silent.Load() {
			n.owes(b.t.id, b.local)
			continue
		}
		sent := v.Token > 0 || v.Err != errSilent //nolint:errorlint // made here; what was not sent may be a raise
		if v.Stand != tally.Against && sent {
			b.q.cleanUpOn(b.q.nodes[i], b.t.id, b.local, now, now.Add(b.local.ttl()))
		}
	}
}

// retry puts a fresh id in the place of this one, and goes on.
func (b *ballot) retry(now clock.Instant) {
	n := b.local
	b.q.p.end(b.t, now)
	n.step(now)
}

// lateAnswer takes an answer that came when all was decided. A tenure that holds
// keeps one more node; else the vote is taken back.
func (b *ballot) lateAnswer(n *node, a wire.Answer, err error, now clock.Instant) {
	holds := b.t.phase == holding || b.t.phase == over
	_, refused := wire.AsServerError(err)
	owed := n.owed[b.t.id] != nil
	delete(n.owed, b.t.id)
	switch {
	case holds || refused || err == errSilent: //nolint:errorlint // made here: it was not asked
	case err != nil && owed: // it may still run
		b.q.cleanUpOn(n, b.t.id, b.local, now, now.Add(b.local.ttl()))
	case err != nil: // once more, also if it is repeated
		b.q.cleanUpOn(n, b.t.id, b.local, now, now)
	case a.Word == "granted":
		b.q.cleanUpOn(n, b.t.id, b.local, now, now.Add(b.local.ttl()))
	}
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
