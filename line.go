package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// line is one name in this process: the callers that want it, in order, and
// the one tenure by which the process asks for it, holds it or leaves it.
//
//	          caller              granted                  nobody left, or recalled
//	nothing ----------> asked ------------------> holding --------------------------> leaving
//	   ^                  | held: wake, lock again   |  ^                               |
//	   |                  | queued                   |  | granted (pushed or answered)  | released
//	   |                  v                          |  |                               |
//	   |               queued -----------------------|--+<------- a fresh id is queued -+
//	   |                  | all callers gave up      |                                  |
//	   +------- cancel ---+              lost, over: a new id if callers are left       |
//	   +--------------------------------------------------------------------------------+
//
// Whatever happens (a caller, an answer, a push, the clock) changes the facts
// below and then calls step, which alone decides what is to be done next.
type line struct {
	c     *core
	key   string // by which core.lines knows it: the name, but for a candidate's, an adopter's, one apart and those of a shared kind
	name  string
	keys  *keyspace.Keys
	shard string // what sharded channels of this name end with; else empty
	wake  *wake
	next  *line // of those that share wake; nil where all do
	prev  *line

	callers callers
	numbers int64         // callers that ever stood here
	tenure  *tenure       // nil: nothing asked
	turn    *turn         // who has it now; nil while none, or lingering
	lingers clock.Instant // until when an idle tenure is kept; 0: not idle

	asking  *request      // lock in flight
	askAt   clock.Instant // when to send lock again; 0: now
	failing clock.Instant // since when requests fail; 0: they do not
	trouble error         // how the newest failed
	backoff time.Duration
	unsure  clock.Instant // since when a grant can't be confirmed; 0: it can, or there is none
	seen    lastSeen      // who has it, as far as is known
	alone   bool          // it was not so simple that a crowd could have it
	orphan  orphan
	adopts  *exported.Hold // the hold that its only tenure takes over; else nil
	takes   *taking        // whose name its only caller takes; else nil
	starts  *start         // the tick of a schedule for which its only caller asks; else nil
	toRenew []string       // keys

	unlocking *request      // unlock in flight
	fresh     *tenure       // the id that it queues again, or nil
	told      chan outcome  // tells the one who released
	tellBy    clock.Instant // when the one who released is told that nobody knows
	ballot    *ballot       // on a quorum: the try in flight
	nodeKeys  *nodeKeys     // on a quorum; nil until they are needed
	contest   contest
	shared    *shared // of a shared kind; nil for a mutex

	candidate *candidate // nil: of callers that lock the name as a Mutex
	apart     *separate  // nil: with owner and ttl of the Client
	bundle    *bundle    // with whose lines it asks by one script; else nil

	timer clock.Timer
}

// enter puts a caller into the line of its name. A patient caller, whose wait
// nothing but an answer ends, may be made to send its request itself.
func (c *core) enter(m *Mutex, w *caller, patient bool) error {
	c.mu.Lock()
	if c.closed {
		c.unlock()
		return ErrClosed
	}
	now := c.clock.Now()
	key, apart := m.candidate.key(m.name), m.apartness()
	if apart != nil {
		key = apart.key(m.name)
	}
	l := c.lines[key]
	if l == nil {
		k, err := keysOf(c.options.Prefix, m.name)
		if err != nil {
			c.unlock()
			return err
		}
		l = c.newLine(key, m.name, k, nil)
		l.candidate, l.apart, l.askAt = m.candidate, apart, c.quorum.yieldsUntil(m.name)
	} else if w.try && l.busy() {
		defer c.unlock()
		return l.held(now)
	}
	l.admit(w, now)
	if l.turn != nil || l.callers.n > 1 {
		l.wake.want() // before a second turn is given
	}
	if t := l.tenure; t != nil && t.phase == holding {
		l.listenByRenewing(t, now)
	}
	l.step(now)
	c.unlockAndPerform(patient, l.asking, now)
	return nil
}

// newLine makes a line, of a shared kind if s is one.
func (c *core) newLine(key, name string, k *keyspace.Keys, s *shared) *line {
	l := &line{c: c, key: key, name: name, keys: k, wake: c.wake, shared: s}
	if l.wake == nil {
		l.shard = k.ShardSuffix()
		if s != nil {
			l.wake = c.wakes.of(c, l.shard)
		} else {
			l.wake = newWake(c, keyspace.PushChannel(c.client, l.shard))
		}
		l.wake.join(l)
	}
	l.timer = clock.Timer{Fire: l.tick}
	c.lines[key] = l
	return l
}

// bare is the part of a line that the end of its ids needs. Ids are remembered by the ten
// thousand. In the shared kinds each had a line of its own, so now those of one name share its
// bare line.
func (l *line) bare(now clock.Instant) *line {
	if l.shared == nil {
		return l
	}
	return l.c.bare.Of(l.name, now, func() *line {
		return &line{c: l.c, name: l.name, keys: l.keys, shard: l.shard, shared: &shared{keys: l.shared.keys}}
	})
}

// busy: a TryLock need not ask Redis, the name is in use or wanted here.
func (l *line) busy() bool {
	if l.callers.n > 0 || l.turn != nil {
		return true
	}
	return l.tenure != nil && l.tenure.phase < holding
}

// abandon takes a caller out that does not want to wait any longer. It returns
// the turn that the caller was given in the same moment, if any, else what is left
// of this call in Redis; nil: nothing, or on a quorum what is undone in the background.
func (c *core) abandon(w *caller) (*turn, *goodbye) {
	c.mu.Lock()
	defer c.unlock()
	select {
	case o := <-w.ready:
		if o.turn != nil {
			o.turn.waive() // nothing was done under it
		}
		return o.turn, nil
	default:
	}
	if !w.listed {
		return nil, nil
	}
	l := w.line
	t := l.tenure
	l.callers.remove(w)
	l.step(c.clock.Now())
	switch {
	case c.quorum != nil || l.callers.n > 0 || t == nil:
	case t.phase == past:
		return nil, c.goodbye(t)
	case t.phase == leaving && l.fresh != nil: // its unlock queues another
		return nil, c.goodbye(l.fresh)
	case t.phase == leaving: // it was not confirmed yet
		return nil, c.goodbye(t)
	}
	return nil, nil
}

// step does what is to be done now.
func (l *line) step(now clock.Instant) {
	if l.c.closed {
		return
	}
	t := l.tenure
	if l.callers.n == 0 && (t == nil || t.phase < holding) {
		l.forget(now)
		return
	}
	if t == nil {
		t = l.c.newTenure(l)
		l.tenure = t
	}
	switch t.phase {
	case asked:
		l.ask(now)
	case holding:
		l.serve(now)
	}
	l.arm(now)
}

// forget ends a line that nobody wants. A tenure that was asked for is given up.
func (l *line) forget(now clock.Instant) {
	if t := l.tenure; t != nil {
		l.giveUp(t, now)
	}
	l.c.schedule.Stop(&l.timer)
	l.c.schedule.Relax(now)
	if l.c.lines[l.key] == l {
		delete(l.c.lines, l.key)
		l.c.wakes.leave(l)
	}
}

// giveUp ends a tenure before it was granted: its id is cancelled, now and
// whenever something is heard of it again.
func (l *line) giveUp(t *tenure, now clock.Instant) {
	l.c.end(t, now)
	l.asking, l.askAt, l.bundle = nil, 0, nil
	if t.mayStand() {
		l.c.cancelFor(t, now)
	}
}

func (c *core) newTenure(l *line) *tenure {
	t := &tenure{id: keyspace.NewID(c.idHead, c.random, l.tail()), line: l}
	c.tenures[t.id] = t
	return t
}

// end makes a tenure past: from now on its id is only remembered.
func (c *core) end(t *tenure, now clock.Instant) {
	if t.phase == past {
		return
	}
	if t.phase < holding && t.mayStand() {
		c.given.Add(t.id, t.line.bare(now), now, t.line.ttl()+queueLife)
	} else {
		c.past.Add(t.id, t.line.bare(now), now, t.line.ttl()+time.Minute)
	}
	t.line.formerIsPast(now)
	c.remembersRest(t, now)
	delete(c.tenures, t.id)
	held := t.phase >= holding
	t.become(past)
	if t.wanted > now {
		c.quorum.leaveUntil(t.line.name, t.wanted)
	}
	if held && t.lost && c.quorum == nil { // an earlier lock may yet come
		c.cancelFor(t, now)
	}
	if l := t.line; l.tenure == t {
		l.tenure, l.lingers = nil, 0
	}
}

// serve gives the name to the next caller, or decides to let it go.
func (l *line) serve(now clock.Instant) {
	t := l.tenure
	if t.isOver(now) {
		l.expire(now)
		return
	}
	if !t.sure {
		l.confirm(t, now)
		return
	}
	if l.turn != nil {
		return
	}
	w := l.callers.first
	switch {
	case t.rests(now):
		l.depart(now)
	case w == nil && t.until == 0 && l.lingering(now):
	case w == nil, // nobody wants it
		t.until > 0 && w.number > t.until, // it was recalled, and who stood here then is served
		w.least > 0 && t.minHold.plain,    // it has to have a tenure of its own
		t.turns > 0 && !t.heard:           // a recall may have gone unheard: ask Redis again
		l.depart(now)
	case w.least > 0 && now.Add(w.least) > t.minHold.lives,
		l.fixed() && t.life < l.ttl(): // a push gave it a claim window
		l.secure(t, now)
	case t.ends().Sub(now) < t.life/3:
		l.topUp(now)
	default:
		l.give(w, now)
	}
}

// lingering reports whether an idle tenure is to be kept.
func (l *line) lingering(now clock.Instant) bool {
	if l.c.options.Linger <= 0 || l.adopts != nil || l.takes != nil || l.starts != nil || l.candidate != nil || l.apart != nil || l.shared != nil {
		return false
	}
	if l.lingers == 0 {
		l.tenure.topped = false
		l.lingers = now.Add(l.c.options.Linger)
		l.wake.want() // or a recall would go unheard
		l.listenByRenewing(l.tenure, now)
	}
	return now < l.lingers
}

// topUp renews before the next turn, once: a caller must not get a lease that
// is nearly over.
func (l *line) topUp(now clock.Instant) {
	t := l.tenure
	switch {
	case t.renewal != nil:
	case t.topped && t.failures == 0:
		l.tooSlow(now, now.Sub(t.ends().Add(-t.life)))
	default:
		t.topped = true
		l.renewSoon(t, now)
	}
}

// give makes a caller the holder: a turn, with the next token.
func (l *line) give(w *caller, now clock.Instant) {
	t := l.tenure
	token, ok := t.tokens.Take()
	if !ok || t.turns > 0 && t.tokens.Wanted() > 0 {
		l.renewSoon(t, now)
	}
	if !ok {
		return // the renewal's answer will come here again
	}
	l.callers.remove(w)
	t.turns++
	t.topped = false
	l.lingers = 0
	l.turn = &turn{line: l, tenure: t, token: token, since: now, shares: 1}
	l.turn.bound(w, now)
	l.c.showDetails(now)
	if l.c.events != nil {
		l.c.emit(Granted{Name: l.name, Token: token, Waited: now.Sub(w.since), Kind: l.kind(), At: time.Now(), Source: l.source(w)})
	}
	w.ready <- outcome{turn: l.turn}
}

// recalled fixes the line: who stands in it now is still served, then the name
// goes to the process that waits.
func (l *line) recalled(t *tenure) {
	if t.until == 0 && l.shared == nil {
		t.until = max(1, l.numbers)
		l.c.emit(Recalled{Name: l.name})
	}
}

// depart sends unlock. When callers are left, a fresh id of this process is
// queued again by the same script.
func (l *line) depart(now clock.Instant) {
	t := l.tenure
	t.become(leaving)
	l.lingers = 0
	l.fresh = nil
	if l.callers.waits() && l.wake.up && l.c.quorum == nil {
		l.fresh = l.c.newTenure(l)
		l.fresh.first, l.fresh.waits = now, true
	}
	l.tellBy = now.Add(l.c.patienceToRelease())
	l.sendUnlock(now)
}

func (l *line) sendUnlock(now clock.Instant) {
	if q := l.c.quorum; q != nil {
		q.leave(l, now)
		return
	}
	id := ""
	if l.fresh != nil {
		id = l.fresh.id
	}
	s, args := l.parting(l.tenure.id, id, l.tenure.minHold.until, now)
	l.tenure.unlocks++
	l.unlocking = l.c.send(s, l, l.tenure, now, args, (*request).unlockAnswered)
	l.askAt = 0
}

// tooSlow ends an attempt whose grants arrive when they are over.
func (l *line) tooSlow(now clock.Instant, roundTrip time.Duration) {
	err := &TooSlowError{Name: l.name, TTL: l.ttl(), RoundTrip: roundTrip}
	l.reject(err)
	if l.tenure.phase == holding {
		l.depart(now)
		return
	}
	l.forget(now)
}

// reject sends all callers home.
func (l *line) reject(err error) {
	for w := l.callers.first; w != nil; w = l.callers.first {
		l.callers.remove(w)
		w.ready <- outcome{err: err}
	}
}

// tick is the line's timer.
func (l *line) tick(now clock.Instant) {
	if l.c.closed {
		return
	}
	t := l.tenure
	if t == nil {
		l.step(now)
		return
	}
	if r := l.asking; (r == nil || r.sent == now) && l.unlocking == nil { // now: another line of its bundle has just asked
		l.slept(l.timer.When(), now)
	}
	switch t.phase {
	case asked, queued:
		if r := l.asking; r != nil && now >= r.sent.Add(r.attempt) {
			l.overdue(r, now)
		} else if l.failing > 0 && now >= l.failing.Add(l.c.options.patience()) {
			l.failed(l.trouble, now, now)
		}
		if l.tenure == t && t.phase == queued && l.asking == nil && now >= l.askAt && l.callers.n > 0 {
			if l.askAt > 0 && now >= l.askAt.Add(asleep) {
				t.listed = false // this process was frozen: that it lost its place has a reason
			}
			l.sendLock(now)
		}
	case holding:
		if now >= l.watches(t) {
			l.wake.want()
		}
		if now >= t.renewAt {
			l.renew(t, now)
		}
	case leaving:
		l.tickLeaving(now)
	}
	l.step(now)
}

// arm sets the timer to the earliest moment at which something is to be done.
func (l *line) arm(now clock.Instant) {
	t := l.tenure
	if t == nil || l.c.lines[l.key] != l {
		return
	}
	when := clock.Never
	at := func(i clock.Instant) { when = min(when, i) }
	switch t.phase {
	case asked, queued:
		if l.asking != nil {
			at(l.asking.sent.Add(l.asking.attempt))
		} else if t.phase == queued || l.askAt > now {
			at(l.askAt)
		}
		if l.failing > 0 {
			at(l.failing.Add(l.c.options.patience()))
		}
	case holding:
		at(t.ends())
		at(t.renewAt)
		at(l.watches(t))
		if u := l.turn; u != nil && u.until > 0 {
			at(u.until)
		}
		if l.lingers > 0 && l.callers.n == 0 {
			at(l.lingers)
		}
	case leaving:
		at(t.gone())
		if l.told != nil {
			at(l.tellBy)
		}
		if l.failing > 0 && l.callers.n > 0 {
			at(l.failing.Add(l.c.options.patience()))
		}
		if l.unlocking != nil {
			at(l.unlocking.sent.Add(l.unlocking.attempt))
		} else {
			at(l.askAt)
		}
	}
	if when == clock.Never {
		l.c.schedule.Stop(&l.timer)
		return
	}
	l.c.schedule.Set(&l.timer, max(when, now), now)
}
