package holdfast

import (
	"cmp"
	"maps"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/subscription"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// wake is the subscription by which Redis reaches this process: one for a
// Client, or one for each contended name in a Cluster. It is opened when
// somebody first has to wait. Guarded by the core's mutex.
type wake struct {
	c      *core
	keeper *subscription.Keeper
	poke   func() // of an election: called whenever something may have changed
	first  *line  // in a Cluster: of the names that listen here, linked by line.next

	wanted  bool
	up      bool          // confirmed
	refused bool          // the newest attempt failed: it may be long until one does not
	since   clock.Instant // when the SUBSCRIBE of the present attempt was sent
	whole   clock.Instant // when it was confirmed: what is pushed later is heard
	attempt int           // counts attempts: what an earlier one still delivers is dropped
	doubted int           // the one that is to be renewed when it has lasted a second
}

func newWake(c *core, channel string) *wake {
	w := &wake{c: c}
	w.keeper = subscription.New(c.ctx, channel, w)
	return w
}

// want opens the subscription if nobody has yet.
func (w *wake) want() {
	if !w.wanted {
		w.wanted = true
		w.c.after = append(w.c.after, func() { go w.keeper.Keep(w.c.store) })
	}
}

// heardSince reports whether nothing that was pushed after sent can be missing.
func (w *wake) heardSince(sent clock.Instant) bool { return w.up && w.whole <= sent }

// doubt renews a subscription that the server does not seem to know, once a second
// at most.
func (w *wake) doubt(now clock.Instant) {
	if next := w.since.Add(time.Second); now < next {
		if attempt := w.attempt; w.doubted != attempt {
			w.doubted = attempt
			w.c.later(next, func(now clock.Instant) {
				if w.attempt == attempt {
					w.doubt(now)
				}
			})
		}
		return
	}
	w.keeper.Reopen()
}

// Began opens an attempt. What was measured on the last subscription counts no
// more: the next one may be to another server with another clock.
func (w *wake) Began() int {
	w.enter()
	defer w.leave()
	w.attempt++
	w.since = w.c.clock.Exact()
	for l := range w.lines() {
		if t := l.tenure; t != nil {
			t.pair = exchange{}
		}
		if l.fresh != nil {
			l.fresh.pair = exchange{}
		}
	}
	return w.attempt
}

// enter takes the core's mutex for a change of the subscription, and leave releases it.
// In a Cluster thousands may end at once. The mutex is handed on in the order in which it
// was asked for, so a caller would wait for all of them: one at a time asks for it.
func (w *wake) enter() {
	w.c.turnstile.Lock()
	w.c.mu.Lock()
}

func (w *wake) leave() {
	after := w.c.leave()
	runtime.Gosched() // the next in the turnstile would run before a caller that the mutex has woken
	w.c.turnstile.Unlock()
	for _, f := range after {
		f()
	}
}

// lines yields the lines that listen here: in a Cluster, where each name has a
// subscription and all may end at once, without a look at the others.
func (w *wake) lines() func(yield func(*line) bool) {
	if w.c.wake == w {
		return maps.Values(w.c.lines)
	}
	return func(yield func(*line) bool) {
		for l := w.first; l != nil; {
			next := l.next // l may end, and leave
			if !yield(l) {
				return
			}
			l = next
		}
	}
}

// join adds a line to those that listen here.
func (w *wake) join(l *line) {
	if l.next = w.first; l.next != nil {
		l.next.prev = l
	}
	w.first = l
}

// part takes it out, and ends the subscription with the last.
func (w *wake) part(l *line) {
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		w.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	l.next, l.prev = nil, nil
	if w.first == nil {
		w.keeper.Close()
	}
}

// Confirmed: from now on nothing that is pushed can be missed; what was pushed
// before is asked for.
func (w *wake) Confirmed() {
	w.enter()
	defer w.leave()
	if w.c.closed {
		return
	}
	now := w.c.clock.Now()
	w.refused = false
	w.up, w.whole = true, now
	if w.poke != nil {
		w.poke()
		return
	}
	w.c.emit(SubscriptionConfirmed{})
	for l := range w.lines() {
		if t := l.tenure; t != nil && t.phase == queued {
			t.listed = false
			l.sendLock(now)
		} else if t != nil && t.phase == asked && t.tried {
			l.askAt = 0 // now it can wait
		}
		l.step(now)
	}
	if w.c.wake == w {
		w.c.renewAll(now)
		return
	}
	for l := range w.lines() { // a Cluster: the other names have their own
		if t := l.tenure; t != nil && t.phase == holding {
			l.renewSoon(t, now)
			l.arm(now)
		}
	}
}

// Broke returns a random part of backoff.
func (w *wake) Broke(err error, backoff time.Duration) time.Duration {
	w.enter()
	defer w.leave()
	jitter := w.c.jitter(backoff)
	if w.c.closed {
		return jitter
	}
	if w.poke != nil {
		w.up = false
		w.poke()
		return jitter
	}
	if wire.MayHaveMoved(err) {
		w.c.troubled = true // the next answer may be another server's
	}
	was := w.up
	w.refused = true
	w.up = false
	w.attempt++ // what it still delivers is dropped
	if was {
		w.c.emit(SubscriptionBroken{Err: err})
	}
	now := w.c.clock.Now()
	for l := range w.lines() {
		t := l.tenure
		switch {
		case t == nil:
			continue
		case t.phase == holding:
			l.listenByRenewing(t, now)
		case t.phase == queued:
			l.askAt = min(l.askAt, now.Add(l.poll(l.seen.position)))
		case t.phase == asked && t.tried && !was:
			if wire.Transient(err) {
				break // it tries, until it can wait
			}
			l.failed(err, now, now) // nobody may wait without it
		}
		l.step(now)
	}
	return jitter
}

// Pushed takes a push. A grant is trusted for one claim window. No other push is trusted
// alone: each only makes known earlier what the next request would say.
func (w *wake) Pushed(attempt int, payload string) {
	if w.poke != nil {
		w.heard()
		return
	}
	m, err := wire.DecodePush(payload)
	if err != nil {
		return // anybody may publish here
	}
	c := w.c
	c.mu.Lock()
	defer c.unlock()
	if c.closed || attempt != w.attempt {
		return
	}
	now := c.clock.Now()
	t := c.tenures[m.ID]
	if t == nil {
		c.ghost(m.ID, now)
		return
	}
	if t.line.wake != w {
		return // in a Cluster candidates of one name hear each other's pushes, by other subscriptions than theirs
	}
	switch m.Kind {
	case "grant":
		c.granted(t, grant{
			base: m.Base, size: m.Size, waiting: m.Waiting,
			start: t.pushStart(m.Server, w.since, now), life: m.Window, heard: true, pushed: true,
		}, now)
	case "head", "front":
		if t.phase <= queued {
			t.line.nextIn(t, m, now)
		}
	case "missed":
		if t.phase <= queued {
			t.line.askAnew(t, now)
		}
	case "recall":
		if t.phase == holding {
			t.line.recalled(t)
			t.line.step(now)
		} else {
			t.recall = true
		}
	case "revoked":
		t.line.ordered(t, now)
	}
}

// nearFront is among how many at the front near tells a waiter, see part/notify_front.lua.
const nearFront = 16

// nextIn: we are the head, or near it, and are told until when to wait at most. An
// answer that is still on its way may be older, and must not put that off.
func (l *line) nextIn(t *tenure, m wire.Push, now clock.Instant) {
	if m.Window < 0 {
		return
	}
	longest := 15 * time.Second
	if m.Kind == "front" {
		longest += nearFront * lookEach
	}
	t.next = now.Add(min(m.Window, longest) + 2*time.Millisecond + l.c.jitter(10*time.Millisecond))
	if l.tenure == t && t.phase == queued && l.asking == nil {
		l.askAt = min(l.askAt, t.next) // a foreign holder is looked at sooner
		if m.Kind == "head" {
			l.seen.position = 0
		}
		l.arm(now)
	}
}

// askAnew: this process was silent when it was this id's turn, or another's of ours, so
// it was taken out of the queue. It lives, and comes back to its place.
func (l *line) askAnew(t *tenure, now clock.Instant) {
	if l.tenure != t || t.phase != queued || l.asking != nil {
		t.missed = true // the answer on its way may be older
		return
	}
	t.listed = false
	l.sendLock(now)
	l.arm(now)
}

// ghost ends an id that Redis still knows and nobody here is behind. Only ids
// that this process remembers having made: a cloned machine bears our client
// and has leases of its own.
func (c *core) ghost(id string, now clock.Instant) {
	if t := c.formerly[id]; t != nil {
		t.line.formerStands(t, now)
	} else if l := c.lineOf(id); l != nil {
		c.cancelID(id, l, now)
	}
}

// lineOf is the line of an id that nobody here is behind any more, as far as is remembered.
func (c *core) lineOf(id string) *line {
	return cmp.Or(c.given.Of(id), c.past.Of(id))
}
