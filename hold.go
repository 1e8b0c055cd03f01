package holdfast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// MaxMinHold is the longest [Mutex.MinHold] and the longest interval of [Client.Once].
const MaxMinHold = 31 * 24 * time.Hour

// checkHold panics where MinHold and MaxHold are mistakes of the program.
func (m *Mutex) checkHold() error {
	if m.Owner != "" || m.TTL != 0 {
		if err := m.checkApart(); err != nil {
			return err
		}
	}
	checkGrace(m.name, m.Grace, cmp.Or(m.TTL, m.client.options.TTL))
	if m.MinHold == 0 && m.MaxHold == 0 {
		return nil
	}
	if m.MinHold < 0 || m.MinHold > MaxMinHold || m.MaxHold < 0 {
		panic(fmt.Sprintf("holdfast: Mutex.MinHold is %v, Mutex.MaxHold is %v: they must not be negative, and MinHold at most %v", m.MinHold, m.MaxHold, MaxMinHold))
	}
	if m.MinHold > 0 && m.client.quorum != nil {
		return notOnQuorum(m.name, "Mutex.MinHold")
	}
	return nil
}

// checkGrace panics where Grace is a mistake of the program.
func checkGrace(name string, grace, ttl time.Duration) {
	if grace < 0 || grace > ttl {
		panic(fmt.Sprintf("holdfast: Grace of %s is %v: it must not be negative, and at most the TTL, which is %v", name, grace, ttl))
	}
}

// minHold is what a tenure knows of Mutex.MinHold. The life of L must not end
// before the least time of holding has passed, or a crash would cut that short.
// So a turn that asks for one is given only after Redis has set such a life, and
// only in a tenure of which nothing is under way that could shorten it.
type minHold struct {
	until clock.Instant   // before this nobody else is to get the name; 0: no turn asked for that
	asked []clock.Instant // until when by each who asked for it
	lives clock.Instant   // until then L lives, as Redis confirmed last
	stays clock.Instant   // by when L is surely gone, as far as least lives go
	plain bool            // a renewal by the ttl alone was sent: however late, it cuts L to that
}

// sent notes a renewal that goes out.
func (h *minHold) sent(r *request, now clock.Instant) {
	h.plain = h.plain || r.least == 0
	h.stays = max(h.stays, now.Add(r.least))
}

// secured notes until when L lives after a renewal. A least life counts from its
// answer: what it lacks is less than a round trip, and the next renewal gives it.
func (h *minHold) secured(r *request, ttl time.Duration, now clock.Instant) {
	h.lives = max(r.sent.Add(ttl), now.Add(r.least))
}

// secure renews before a turn that asks for a least time of holding.
func (l *line) secure(t *tenure, now clock.Instant) {
	t.sure = false
	l.confirm(t, now)
}

// least is how long L has to live, whatever the ttl: until the least time of
// holding has passed, or as long as the turn will ask that is about to be given.
func (l *line) least(t *tenure, now clock.Instant) time.Duration {
	if l.fixed() { // so that one that comes late cuts nothing that Extend gave
		return max(l.ttl(), l.leastHold(t, now))
	}
	return l.leastHold(t, now)
}

func (l *line) leastHold(t *tenure, now clock.Instant) time.Duration {
	if t.rests(now) {
		return t.minHold.until.Sub(now)
	}
	if w := l.callers.first; l.turn == nil && w != nil && !t.minHold.plain {
		return w.least
	}
	return 0
}

// rests reports whether nobody else may get the name yet.
func (t *tenure) rests(now clock.Instant) bool { return t.minHold.until > now }

// gone is by when L is surely gone, unless it is renewed.
func (t *tenure) gone() clock.Instant { return max(t.expiry, t.minHold.stays) }

// parting is what ends a tenure in Redis: while its least time of holding is not
// over L is made to rest, which is given as a duration that is reckoned anew for
// each try.
func (l *line) parting(id, fresh string, rests, now clock.Instant) (*driver.Script, []string) {
	if rests > now {
		return script.Cooldown, []string{id, wire.Millis(rests.Sub(now)), l.owner(), l.shard, fresh}
	}
	return script.Unlock, l.unlockArgs(id, fresh)
}

// expire ends a tenure whose deadline, or whose turn's MaxHold, has passed.
func (l *line) expire(now clock.Instant) {
	cause := Expired
	if l.turn != nil {
		cause = cmp.Or(l.turn.over(now), Expired)
	}
	l.retire(cause, "", now)
}

// retire ends a tenure whose holder has to stop. Its L is left alone until the
// lease is released, after MaxHold until Grace has passed: the rest of its life is for
// work that is stopping.
// Without a lease nobody works, and it goes at once.
func (l *line) retire(cause Cause, reason string, now clock.Instant) {
	t, u := l.tenure, l.turn
	l.turn = nil
	if u == nil {
		l.c.end(t, now)
		l.leaveBehind(t, now)
	} else {
		t.become(over)
		l.tenure, l.lingers = nil, 0
		l.c.later(t.gone().Add(l.ttl()), func(now clock.Instant) { l.c.end(t, now) })
		u.finish(&LostError{Name: l.name, Token: u.token, Cause: cause, Reason: reason}, now)
		switch {
		case cause == MaxHold:
			l.freeLater(u, u.grace, now)
		case cause == Revoked && l.fixed(): // nor did the question cut what Extend gave
			l.freeLater(u, l.ttl(), now)
		case cause == Expired && l.fixed(): // L may live on, see Extend
			l.free(u, now)
		}
	}
	l.step(now)
}

// freeLater gives the name back after a while, unless Release does before.
func (l *line) freeLater(u *turn, after time.Duration, now clock.Instant) {
	l.c.later(now.Add(after), func(now clock.Instant) {
		if u.tenure.phase == over {
			l.free(u, now)
			l.candidate.gaveBack(u)
		}
	})
}

// free gives the name back whose lease has ended before.
func (l *line) free(u *turn, now clock.Instant) {
	l.c.end(u.tenure, now)
	u.freed = l.leaveBehind(u.tenure, now)
}

// leaveBehind ends, in the background, what a tenure has left in Redis. What it returns
// is closed when that is done.
func (l *line) leaveBehind(t *tenure, now clock.Instant) <-chan struct{} {
	if t.rests(now) {
		return l.c.rest(t.id, l, now, t.minHold.until).ended()
	}
	if q := l.c.quorum; q != nil {
		return q.undo(t.id, l, true, now, t.gone())
	}
	return l.c.errand(script.Unlock, l, now, t.gone(), l.unlockArgs(t.id, "")).ended()
}

// rest makes L rest where an id still holds it.
func (c *core) rest(id string, l *line, now, until clock.Instant) *errand {
	return c.begin(&errand{call: driver.Call{Script: script.Cooldown, Keys: l.keys[:], Args: []string{id}}, line: l, rests: until, until: until.Add(l.ttl())}, now)
}

// restsUntil is when the least time of holding of an id is over; 0: it has none,
// or L is known to rest.
func (c *core) restsUntil(id string) clock.Instant {
	if t := c.tenures[id]; t != nil {
		return t.minHold.until
	}
	return c.rested[id]
}

// remembersRest keeps in mind of a past id that its L must not be given away
// before: no cancel may do that.
func (c *core) remembersRest(t *tenure, now clock.Instant) {
	if t.rests(now) {
		c.rested[t.id] = t.minHold.until
		c.later(t.minHold.until, func(clock.Instant) { delete(c.rested, t.id) })
	}
}

// bound notes how long a turn has to last, and may.
func (u *turn) bound(w *caller, now clock.Instant) {
	if w.least > 0 {
		u.tenure.minHold.ask(now.Add(w.least))
	}
	if w.most > 0 {
		u.until, u.grace = now.Add(w.most), cmp.Or(w.grace, 2*time.Second)
	}
	u.line.restUnlessAsked(u.tenure)
}

// holdLonger is bound for one who shares a turn: the longest counts.
func (u *turn) holdLonger(least time.Duration) {
	if least > 0 {
		u.tenure.minHold.ask(u.since.Add(least))
	}
}

// holdNoLonger takes that back for one who got no lease after all.
func (u *turn) holdNoLonger(least time.Duration) {
	h := &u.tenure.minHold
	if i := slices.Index(h.asked, u.since.Add(least)); i >= 0 {
		h.asked = slices.Delete(h.asked, i, i+1)
		h.until = 0
		for _, until := range h.asked {
			h.until = max(h.until, until)
		}
	}
}

// ask: nobody else is to get the name before that.
func (h *minHold) ask(until clock.Instant) {
	h.asked = append(h.asked, until)
	h.until = max(h.until, until)
}

// waive lets the name go to the next at once, for what was to be done under it
// was not.
func (u *turn) waive() { u.tenure.minHold.until, u.tenure.minHold.asked = 0, nil }

// ends is the holder's own deadline.
func (u *turn) ends() clock.Instant {
	if u.until > 0 {
		return min(u.tenure.ends(), u.until)
	}
	return u.tenure.ends()
}

// over is why a turn that nobody released has ended; empty: it has not.
func (u *turn) over(now clock.Instant) Cause {
	switch {
	case now < u.ends():
		return ""
	case u.until > 0 && u.until < u.tenure.ends():
		return MaxHold
	}
	return Expired
}

// hasEnded is how a turn ended; nil: it goes on. What is over ends now, if that was not
// noticed before.
func (u *turn) hasEnded(now clock.Instant) *ending {
	if u.line.turn == u && u.over(now) != "" {
		u.line.expire(now)
	}
	return u.ended.Load()
}
