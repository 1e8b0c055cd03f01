package holdfast

import (
	"cmp"
	"maps"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/subscription"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// subscriber is the subscription by which Redis reaches this process: one for a
// Client, or one for each contended name in a Cluster. It is opened when
// a caller first has to wait. Guarded by the core's mutex.
type subscriber struct {
	c      *core
	keeper *subscription.Keeper
	notify func()     // of an election: called each time that something may have changed
	first  *localName // in a Cluster: of the names that listen here, linked by localName.nextOnSub

	wanted        bool
	confirmed     bool          // confirmed
	failed        bool          // the newest attempt failed: it may be long until one does not
	sentAt        clock.Instant // when the SUBSCRIBE of the present attempt was sent
	confirmedAt   clock.Instant // when it was confirmed: what is pushed later arrives
	attempt       int           // counts attempts: what an earlier one still delivers is dropped
	resubscribing int           // the one that is to be renewed when it has lasted a second
}

func newSubscriber(c *core, channel string) *subscriber {
	s := &subscriber{c: c}
	s.keeper = subscription.New(c.ctx, channel, s)
	return s
}

// open opens the subscription, once.
func (s *subscriber) open() {
	if !s.wanted {
		s.wanted = true
		s.c.afterUnlock = append(s.c.afterUnlock, func() { go s.keeper.Keep(s.c.store) })
	}
}

// confirmedBefore reports whether nothing that was pushed after sent can be missing.
func (s *subscriber) confirmedBefore(sent clock.Instant) bool {
	return s.confirmed && s.confirmedAt <= sent
}

// resubscribe renews a subscription that the server does not seem to know, once a second
// at most.
func (s *subscriber) resubscribe(now clock.Instant) {
	if next := s.sentAt.Add(time.Second); now < next {
		if attempt := s.attempt; s.resubscribing != attempt {
			s.resubscribing = attempt
			s.c.later(next, func(now clock.Instant) {
				if s.attempt == attempt {
					s.resubscribe(now)
				}
			})
		}
		return
	}
	s.keeper.Reopen()
}

// Began opens an attempt. What was measured on the last subscription counts no
// more: the next one may be to another server with another clock.
func (s *subscriber) Began() int {
	s.lock()
	defer s.unlock()
	s.attempt++
	s.sentAt = s.c.clock.Exact()
	for n := range s.names() {
		if t := n.tenure; t != nil {
			t.clockPair = exchange{}
		}
		if n.fresh != nil {
			n.fresh.clockPair = exchange{}
		}
	}
	return s.attempt
}

// lock takes the core's mutex for a change of the subscription, and unlock releases it.
// In a Cluster thousands may end at once. The mutex is handed on in the order in which it
// was asked for, so a caller would wait for all of them: one at a time asks for it.
func (s *subscriber) lock() {
	s.c.turnstile.Lock()
	s.c.mu.Lock()
}

func (s *subscriber) unlock() {
	after := s.c.unlockAndSend()
	runtime.Gosched() // the next in the turnstile would run before a caller that the mutex has woken
	s.c.turnstile.Unlock()
	for _, f := range after {
		f()
	}
}

// names yields the local names that listen here: in a Cluster, where each name has a
// subscription and all may end at once, without a look at the others.
func (s *subscriber) names() func(yield func(*localName) bool) {
	if s.c.sub == s {
		return maps.Values(s.c.names)
	}
	return func(yield func(*localName) bool) {
		for n := s.first; n != nil; {
			next := n.nextOnSub // n may end, and be removed
			if !yield(n) {
				return
			}
			n = next
		}
	}
}

// add adds a local name to those that listen here.
func (s *subscriber) add(n *localName) {
	if n.nextOnSub = s.first; n.nextOnSub != nil {
		n.nextOnSub.prevOnSub = n
	}
	s.first = n
}

// remove takes it out, and ends the subscription with the last.
func (s *subscriber) remove(n *localName) {
	if n.prevOnSub != nil {
		n.prevOnSub.nextOnSub = n.nextOnSub
	} else {
		s.first = n.nextOnSub
	}
	if n.nextOnSub != nil {
		n.nextOnSub.prevOnSub = n.prevOnSub
	}
	n.nextOnSub, n.prevOnSub = nil, nil
	if s.first == nil {
		s.keeper.Close()
	}
}

// Confirmed: from now on nothing that is pushed can be missed; what was pushed
// before is asked for.
func (s *subscriber) Confirmed() {
	s.lock()
	defer s.unlock()
	if s.c.closed {
		return
	}
	now := s.c.clock.Now()
	s.failed = false
	s.confirmed, s.confirmedAt = true, now
	if s.notify != nil {
		s.notify()
		return
	}
	s.c.emit(SubscriptionConfirmed{})
	for n := range s.names() {
		if t := n.tenure; t != nil && t.phase == queued {
			t.inQueue = false
			n.sendLock(now)
		} else if t != nil && t.phase == asked && t.foundHeld {
			n.askAt = 0 // now it can wait
		}
		n.step(now)
	}
	if s.c.sub == s {
		s.c.renewAll(now)
		return
	}
	for n := range s.names() { // a Cluster: the other names have their own
		if t := n.tenure; t != nil && t.phase == holding {
			n.renewSoon(t, now)
			n.arm(now)
		}
	}
}

// Broke returns a random part of backoff.
func (s *subscriber) Broke(err error, backoff time.Duration) time.Duration {
	s.lock()
	defer s.unlock()
	jitter := s.c.jitter(backoff)
	if s.c.closed {
		return jitter
	}
	if s.notify != nil {
		s.confirmed = false
		s.notify()
		return jitter
	}
	if wire.MayHaveMoved(err) {
		s.c.netFailed = true // the next answer may be another server's
	}
	was := s.confirmed
	s.failed = true
	s.confirmed = false
	s.attempt++ // what it still delivers is dropped
	if was {
		s.c.emit(SubscriptionBroken{Err: err})
	}
	now := s.c.clock.Now()
	for n := range s.names() {
		t := n.tenure
		switch {
		case t == nil:
			continue
		case t.phase == holding:
			n.renewForRecalls(t, now)
		case t.phase == queued:
			n.askAt = min(n.askAt, now.Add(n.pollInterval(n.seen.position)))
		case t.phase == asked && t.foundHeld && !was:
			if wire.Transient(err) {
				break // it tries, until it can wait
			}
			n.failed(err, now, now) // nobody may wait without it
		}
		n.step(now)
	}
	return jitter
}

// Pushed takes a push. A grant is trusted for one claim window. No other push is trusted
// alone: each only makes known earlier what the next request would say.
func (s *subscriber) Pushed(attempt int, payload string) {
	if s.notify != nil {
		s.announced()
		return
	}
	m, err := wire.DecodePush(payload)
	if err != nil {
		return // anybody may publish here
	}
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	if c.closed || attempt != s.attempt {
		return
	}
	now := c.clock.Now()
	t := c.tenures[m.ID]
	if t == nil {
		c.cancelStaleID(m.ID, now)
		return
	}
	if t.local.sub != s {
		return // in a Cluster candidates of one name get each other's pushes, by other subscriptions than theirs
	}
	switch m.Kind {
	case "grant":
		c.granted(t, grant{
			base: m.Base, size: m.Size, waiting: m.Waiting,
			start: t.pushStart(m.Server, s.sentAt, now), ttl: m.Window, recallSure: true, pushed: true,
		}, now)
	case "head", "front":
		if t.phase <= queued {
			t.local.pollWhenPushed(t, m, now)
		}
	case "missed":
		if t.phase <= queued {
			t.local.askAgain(t, now)
		}
	case "recall":
		if t.phase == holding {
			t.local.recalled(t)
			t.local.step(now)
		} else {
			t.earlyRecall = true
		}
	case "revoked":
		t.local.revocationPushed(t, now)
	}
}

// pollWhenPushed: we are the head, or near it, and the push says when to poll at the latest. An
// answer that is still on its way may be older, and must not put that off.
func (n *localName) pollWhenPushed(t *tenure, m wire.Push, now clock.Instant) {
	if m.Window < 0 {
		return
	}
	longest := 15 * time.Second
	if m.Kind == "front" {
		longest += protocol.FrontSize * protocol.PollPerWaiter
	}
	t.pollBy = now.Add(min(m.Window, longest) + 2*time.Millisecond + n.c.jitter(10*time.Millisecond))
	if n.tenure == t && t.phase == queued && n.asking == nil {
		n.askAt = min(n.askAt, t.pollBy) // a foreign holder is polled sooner
		if m.Kind == "head" {
			n.seen.position = 0
		}
		n.arm(now)
	}
}

// askAgain: this process was silent when it was this id's turn, or another's of ours, so
// it was taken out of the queue. It lives, and comes back to its place.
func (n *localName) askAgain(t *tenure, now clock.Instant) {
	if n.tenure != t || t.phase != queued || n.asking != nil {
		t.requeue = true // the answer on its way may be older
		return
	}
	t.inQueue = false
	n.sendLock(now)
	n.arm(now)
}

// cancelStaleID ends an id that Redis still stores although this process has given it up.
// It ends only ids that this process remembers: a cloned machine has our client id and
// leases of its own.
func (c *core) cancelStaleID(id string, now clock.Instant) {
	if t := c.byFormerID[id]; t != nil {
		t.local.formerIDSeen(t, now)
	} else if n := c.nameOfID(id); n != nil {
		c.cancelID(id, n, now)
	}
}

// nameOfID is the local name of an id that this process has given up, as far as it remembers.
func (c *core) nameOfID(id string) *localName {
	return cmp.Or(c.givenUpIDs.Of(id), c.endedIDs.Of(id))
}
