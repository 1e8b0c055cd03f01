package machine

import (
	"maps"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Subscriber is the subscription by which Redis reaches this process: one for a
// Client, or one for each contended name in a Cluster. It is opened when
// a caller first has to wait. It is part of the process.
type Subscriber struct {
	p       *Process
	Channel string
	first   *Name // in a Cluster: of the names that listen here, linked by Name.nextOnSub

	wanted        bool
	Confirmed     bool          // confirmed
	failed        bool          // the newest attempt failed: it may be long until one does not
	sentAt        clock.Instant // when the SUBSCRIBE of the present attempt was sent
	confirmedAt   clock.Instant // when it was confirmed: what is pushed later arrives
	attempt       int           // counts attempts: what an earlier one still delivers is dropped
	resubscribing int           // the one that is to be renewed when it has lasted a second
}

// open opens the subscription, once.
func (s *Subscriber) open() {
	if !s.wanted {
		s.wanted = true
		s.p.Host.Listen(s, false)
	}
}

// confirmedBefore reports whether nothing that was pushed after sent can be missing.
func (s *Subscriber) confirmedBefore(sent clock.Instant) bool {
	return s.Confirmed && s.confirmedAt <= sent
}

// resubscribe renews a subscription that the server does not seem to know, once a second
// at most.
func (s *Subscriber) resubscribe(now clock.Instant) {
	if next := s.sentAt.Add(time.Second); now < next {
		if s.resubscribing != s.attempt {
			s.resubscribing = s.attempt
			s.p.Later(next, now, s.resubscribeLater)
		}
		return
	}
	s.p.Host.Listen(s, true)
}

// resubscribeLater: the second is over. If another attempt has begun, that has a second of its own.
func (s *Subscriber) resubscribeLater(now clock.Instant) {
	if s.attempt == s.resubscribing {
		s.resubscribing = 0 // a timer of an earlier attempt may fire late, too
		s.resubscribe(now)
	}
}

// OnBegin opens an attempt. What was measured on the last subscription counts no more: the next
// one may be to another server with another clock.
func (s *Subscriber) OnBegin(now clock.Instant) int {
	s.attempt++
	s.sentAt = now
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

// names yields the local names that listen here: in a Cluster, where each name has a
// subscription and all may end at once, without visiting the others.
func (s *Subscriber) names() func(yield func(*Name) bool) {
	if s.p.sub == s {
		return maps.Values(s.p.names)
	}
	return func(yield func(*Name) bool) {
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
func (s *Subscriber) add(n *Name) {
	if n.nextOnSub = s.first; n.nextOnSub != nil {
		n.nextOnSub.prevOnSub = n
	}
	s.first = n
}

// remove takes it out, and ends the subscription with the last.
func (s *Subscriber) remove(n *Name) {
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
		s.p.Host.Unlisten(s)
	}
}

// OnConfirm is called when the attempt is confirmed: from now on nothing that is pushed can be missed; what was pushed before is
// asked for.
func (s *Subscriber) OnConfirm(now clock.Instant) {
	if s.p.Closed {
		return
	}
	s.failed = false
	s.Confirmed, s.confirmedAt = true, now
	s.p.Host.Note(Event{What: SubscriptionConfirmed})
	for n := range s.names() {
		if t := n.tenure; t != nil && t.phase == queued {
			t.inQueue = false
			n.sendLock(now)
		} else if t != nil && t.phase == asked && t.foundHeld {
			n.askAt = 0 // now it can wait
		}
		n.step(now)
	}
	if s.p.sub == s {
		s.p.renewAll(now)
		return
	}
	for n := range s.names() { // a Cluster: the other names have their own
		if t := n.tenure; t != nil && t.phase == holding {
			n.renewSoon(t, now)
			n.arm(now)
		}
	}
}

// OnBreak is called when the newest attempt has failed, or ended.
func (s *Subscriber) OnBreak(err error, now clock.Instant) {
	if s.p.Closed {
		return
	}
	if wire.MayHaveMoved(err) {
		s.p.NetFailed = true // the next answer may be another server's
	}
	was := s.Confirmed
	s.failed = true
	s.Confirmed = false
	s.attempt++ // what it still delivers is dropped
	if was {
		s.p.Host.Note(Event{What: SubscriptionBroken, Err: err})
	}
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
}

// OnPush takes a push. A grant is trusted for one claim window. No other push is trusted
// alone: each only makes known earlier what the next request would say.
func (s *Subscriber) OnPush(attempt int, m wire.Push, now clock.Instant) {
	if s.p.Closed || attempt != s.attempt {
		return
	}
	p := s.p
	t := p.tenures[m.ID]
	if t == nil {
		p.cancelStaleID(m.ID, now)
		return
	}
	if t.local.sub != s {
		return // in a Cluster candidates of one name get each other's pushes, by other subscriptions than theirs
	}
	switch m.Kind {
	case "grant":
		p.granted(t, grant{
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
func (n *Name) pollWhenPushed(t *Tenure, m wire.Push, now clock.Instant) {
	if m.Window < 0 {
		return
	}
	longest := 15 * time.Second
	if m.Kind == "front" {
		longest += protocol.FrontSize * protocol.PollPerWaiter
	}
	t.pollBy = now.Add(min(m.Window, longest) + 2*time.Millisecond + n.p.Jitter(10*time.Millisecond))
	if n.tenure == t && t.phase == queued && n.Asking == nil {
		n.askAt = min(n.askAt, t.pollBy) // a foreign holder is polled sooner
		if m.Kind == "head" {
			n.seen.position = 0
		}
		n.arm(now)
	}
}

// askAgain: this process was silent when it was this id's turn, or another's of ours, so
// it was taken out of the queue. It lives, and comes back to its place.
func (n *Name) askAgain(t *Tenure, now clock.Instant) {
	if n.tenure != t || t.phase != queued || n.Asking != nil {
		t.requeue = true // the answer on its way may be older
		return
	}
	t.inQueue = false
	n.sendLock(now)
	n.arm(now)
}

// sharedSubs are the subscriptions of the shared kinds in a Cluster, by the suffix of
// their channel. The acquisitions of one name share one, which ends with the
// last of them. Guarded by the core's mutex.
type sharedSubs map[string]*Subscriber

func (all *sharedSubs) of(p *Process, suffix string) *Subscriber {
	if *all == nil {
		*all = sharedSubs{}
	}
	s := (*all)[suffix]
	if s == nil {
		s = &Subscriber{p: p, Channel: keyspace.PushChannel(p.ClientID, suffix)}
		(*all)[suffix] = s
	}
	return s
}

// remove removes a local name that ends from those that share its subscription.
func (all sharedSubs) remove(n *Name) {
	if n.shard == "" {
		return
	}
	n.sub.remove(n)
	if n.Kind.Shared() && n.sub.first == nil {
		delete(all, n.shard)
	}
}
