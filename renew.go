package holdfast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// renew sends a renewal, whatever is in flight. The next is due a sixth of the
// life later, so that two may fail before the deadline; and one that is not
// answered has failed before it, too. What is over is renewed no more: the next step ends it.
func (l *line) renew(t *tenure, now clock.Instant) {
	if t.isOver(now) {
		return
	}
	pause := l.pause(t)
	next := together(now.Add(pause-l.c.jitter(pause/10)), t.life)
	if t.renewal != nil && t.renewal.waits {
		t.renewAt = next // it has yet to be sent
		return
	}
	attempt := l.patienceToRenew(t, now)
	t.renewAt = next
	if l.fixed() {
		t.doubted = now
	}
	if l.unrenewed() {
		t.renewal = l.check(t, now)
		return
	}
	if q := l.c.quorum; q != nil {
		t.renewal = q.renew(l, t, now, attempt)
	} else {
		t.renewal = l.renewHere(t, now)
		t.renewal.attempt = attempt
	}
	t.expiry = max(t.expiry, now.Add(l.ttl()))
	t.minHold.sent(t.renewal, now)
}

// patienceToRenew is how long one renewal may take.
func (l *line) patienceToRenew(t *tenure, now clock.Instant) time.Duration {
	return min(max(min(t.ends().Sub(now), t.life/2), 50*time.Millisecond), longestRenewal)
}

const longestRenewal = 3 * time.Second

// renewHere is renew on one master.
func (l *line) renewHere(t *tenure, now clock.Instant) *request {
	args, least := l.renewArgs(t, now, 0)
	r := l.c.send(script.Renew, l, t, now, args, (*request).renewAnswered)
	r.least = least
	if !r.waits {
		t.reserves(r)
	}
	return r
}

// renewArgs are the arguments of a renewal that reserves at least so many tokens, and the
// least life among them.
func (l *line) renewArgs(t *tenure, now clock.Instant, tokens int64) (args []string, least time.Duration) {
	args = []string{t.id}
	wanted, least := max(t.tokens.Wanted(), tokens), l.least(t, now)
	if l.shared != nil && t.turns > 0 {
		wanted = 0 // it has one turn
	}
	if l.shared.wasLarger() {
		return l.shared.withFormer(append(args, "0"), l.shard), 0
	}
	if wanted > 0 || least > 0 || now >= t.fenced.Add(fenceEvery) {
		args = append(args, itoa(wanted))
	}
	if least > 0 {
		args = append(args, wire.Millis(least))
	}
	return args, least
}

// renewSoon renews ahead of time, unless that is under way or has just failed.
func (l *line) renewSoon(t *tenure, now clock.Instant) {
	if t.renewal == nil && (t.failures == 0 || now >= t.renewAt) {
		l.renew(t, now)
	}
}

// fenceEvery is how often a renewal prolongs F too, which lives that much longer
// than it must.
const fenceEvery = time.Hour

func (r *request) renewAnswered(a wire.Answer, err error, now clock.Instant) {
	l, t := r.line, r.tenure
	slack := t.slack(now)
	if r.reserving {
		t.strides--
	}
	t.tokens.Reserved(a.Base, a.Size)
	if r.overtaken() && err == nil && a.Word != "renewed" && a.Word != "kept" {
		err = wire.ErrNoAnswer // the id that it bore has been replaced
	}
	if r.asked != nil {
		defer func() { r.asked <- err }()
	}
	if t.renewal == r {
		t.renewal = nil
	}
	if t.phase != holding || r.overtaken() {
		return // it has ended meanwhile, or has another id: harmless
	}
	switch {
	case now >= t.ends(): // never revived
	case err == nil && (a.Word == "renewed" || a.Word == "kept") && r.acked < l.c.options.WaitReplicas:
		l.tooFew(r, a, now)
	case err == nil && a.Word == "renewed":
		l.prolonged(r)
		t.minHold.secured(r, l.ttl(), now)
		t.tokens.Add(a.Base, a.Size)
		l.acknowledged(t, r)
		l.kept()
		if len(r.call.Args) > 1 {
			t.fenced = r.sent
		}
		if l.wake.heardSince(r.sent) {
			t.heard = true
		} else if l.wake.up { // a recall may have gone unheard since it ran
			t.renewAt = min(t.renewAt, now)
		}
		if a.Waiting > 0 {
			l.recalled(t)
		}
		l.listenByRenewing(t, now)
		l.c.emit(Renewed{Name: l.name, Remaining: t.ends().Sub(now), Replicas: r.acked, Slack: slack})
	case err == nil && a.Word == "kept":
		l.prolonged(r)
		t.minHold.secured(r, l.ttl(), now)
		l.acknowledged(t, r)
		t.failures = 1 // it must learn soon who waits, but not in a busy loop
		t.renewAt = min(t.renewAt, now.Add(50*time.Millisecond+l.c.jitter(50*time.Millisecond)))
		l.c.emit(Renewed{Name: l.name, Remaining: t.ends().Sub(now), Replicas: r.acked, Slack: slack})
	case err == nil && (a.Word == "lost" || a.Word == "stolen"):
		l.lose(t, a, now)
	case err == nil && a.Word == "revoked":
		l.retire(Revoked, a.Reason, now)
	default:
		if err == nil {
			err = fmt.Errorf("renew was answered %q", a.Word)
		}
		l.renewFailed(t, err, now)
		if !t.sure {
			l.confirmFailed(err, r.sent, now)
		}
	}
	l.restUnlessAsked(t)
	l.step(now)
}

func (l *line) renewFailed(t *tenure, err error, now clock.Instant) {
	if t.failures++; l.shared.wasLarger() {
		l.shared.smaller.failed = err
	}
	l.tryAgain(t, now)
	l.c.emit(RenewFailed{Name: l.name, Err: err, Remaining: t.ends().Sub(now), Slack: t.slack(now)})
}

// tryAgain makes what failed be sent again, the sooner the less often it failed.
func (l *line) tryAgain(t *tenure, now clock.Instant) {
	backoff := min(5*time.Millisecond<<min(t.failures, 20), l.pause(t))
	t.renewAt = min(t.renewAt, now.Add(backoff/2+l.c.jitter(backoff)))
}

// listenByRenewing asks Redis once a second who waits, while a recall would go
// unheard and callers here go on.
func (l *line) listenByRenewing(t *tenure, now clock.Instant) {
	if l.wake.wanted && !l.wake.up && (l.callers.n > 0 || l.lingers > 0) {
		t.renewAt = min(t.renewAt, now.Add(time.Second/2+l.c.jitter(time.Second/2)))
	}
}

// lose ends a tenure of which Redis knows nothing any more.
func (l *line) lose(t *tenure, a wire.Answer, now clock.Instant) {
	cause := Cause(a.Ending())
	u := l.turn
	l.turn = nil
	l.c.end(t, now)
	if l.c.quorum == nil {
		l.c.ghost(a.Holder, now)
	}
	if cause != Stolen {
		l.c.renewAllSoon(now) // it may not be alone
	}
	if q := l.c.quorum; q != nil {
		q.undo(t.id, l, true, now, t.expiry) // a minority still has it
	}
	if l.shared.wasLarger() { // one of its ids was stolen, another may stand
		l.leaveBehind(t, now)
	}
	if u != nil {
		u.finish(&LostError{Name: l.name, Token: u.token, Cause: cause, Reason: a.Reason}, now)
	}
}

// watches is when a holder opens the subscription that it has no other use for:
// its end tells that another server may be the master, long before a renewal
// would. Brief leases open none, nor do those of a Cluster, where each name would
// need its own.
func (l *line) watches(t *tenure) clock.Instant {
	if l.wake.wanted || l.shard != "" {
		return clock.Never
	}
	return t.expiry.Add(time.Second - t.life)
}

// renewAllSoon calls renewAll at once, or where that has just been done, soon:
// half of the servers of a Cluster may answer and the other half not, again and
// again.
func (c *core) renewAllSoon(now clock.Instant) {
	if c.renewedAll > now {
		return // it is going to be
	}
	apart := max(500*time.Millisecond, time.Duration(len(c.lines))*100*time.Microsecond) // a tenth of Redis at most
	c.renewedAll = max(now, c.renewedAll.Add(min(apart, c.options.TTL/6)))
	c.later(c.renewedAll, c.renewAll)
}

// renewAll renews whatever is held, nearest deadline first: after a reconnect
// it may be another server that answers, or one that lost its data.
func (c *core) renewAll(now clock.Instant) {
	if c.closed {
		return
	}
	c.renewedAll = now
	var held []*tenure
	for _, l := range c.lines {
		if t := l.tenure; t != nil && t.phase == holding && (t.renewal == nil || t.failures == 0 || t.renewal.sent < c.cleared) {
			held = append(held, t)
		}
	}
	slices.SortFunc(held, func(a, b *tenure) int { // by id where that is the same, so that simulated time repeats itself
		return cmp.Or(cmp.Compare(a.ends(), b.ends()), cmp.Compare(a.id, b.id))
	})
	for _, t := range held {
		t.line.renew(t, now)
		t.line.arm(now)
	}
}

// orphan is a key without expiry that a waiter keeps seeing.
type orphan struct {
	value string
	since clock.Instant
}

// orphaned gives a key without expiry one, when asked for and after it was seen
// unchanged for long enough.
func (l *line) orphaned(a wire.Answer, now clock.Instant) {
	patience := l.c.options.RepairOrphans
	if patience == 0 {
		return
	}
	if l.orphan.value != a.Holder || l.orphan.since == 0 {
		l.orphan = orphan{a.Holder, now}
		return
	}
	if now.Sub(l.orphan.since) < patience {
		return
	}
	l.orphan = orphan{}
	l.c.send(script.Repair, l, nil, now, []string{a.Holder, itoa(l.c.options.TTL.Milliseconds())}, (*request).repairAnswered)
}

func (r *request) repairAnswered(a wire.Answer, err error, _ clock.Instant) {
	l := r.line
	switch {
	case err != nil:
		l.c.warn("holdfast: could not give the orphaned key an expiry", "name", l.name, "error", err)
	case a.Word == "repaired":
		l.c.warn("holdfast: gave a key without an expiry one", "name", l.name, "ttl", l.c.options.TTL)
		l.c.emit(Repaired{Name: l.name})
	}
}
