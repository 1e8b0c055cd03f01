package machine

import (
	"maps"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Subscriber is the subscription by which Redis notifies this Client: one for a
// Client, or in a Cluster one for each contended name. It is opened when a local
// waiter first has to wait, or a holder needs it: see lingering and subscribeAt.
type Subscriber struct {
	client  *Client
	Channel string
	first   *Name // in a Cluster: the first name that uses it; the others follow by Name.nextOnSub

	wanted        bool
	Confirmed     bool          // every push after confirmedAt arrives
	failed        bool          // the newest attempt failed: a working one may take long
	sentAt        clock.Instant // when the SUBSCRIBE of the present attempt was sent
	confirmedAt   clock.Instant // when it was confirmed
	attempt       int           // number of the newest attempt: pushes of earlier ones are ignored
	resubscribing int           // the attempt that is replaced when it is 1 s old
}

// open opens the subscription, once.
func (s *Subscriber) open() {
	if !s.wanted {
		s.wanted = true
		s.client.Host.Listen(s, false)
	}
}

// subscribeAt returns when a holder subscribes only to notice a failover: 1 s after the
// newest lock or renewal was sent or answered. If the subscription breaks, another server may be
// the master; a renewal would show that later. A lease that ends or is renewed within
// 1 s opens none, nor does a Cluster, where each name would need its own.
func (n *Name) subscribeAt(t *Tenure) clock.Instant {
	if n.sub.wanted || n.shard != "" {
		return clock.Never
	}
	return t.Expiry.Add(time.Second - t.TTL)
}

// confirmedBefore reports whether the subscription was confirmed before sent, so that every push
// after sent arrives.
func (s *Subscriber) confirmedBefore(sent clock.Instant) bool {
	return s.Confirmed && s.confirmedAt <= sent
}

// resubscribe replaces a subscription that the server does not seem to know, at most once a
// second.
func (s *Subscriber) resubscribe(now clock.Instant) {
	if next := s.sentAt.Add(time.Second); now < next {
		if s.resubscribing != s.attempt {
			s.resubscribing = s.attempt
			s.client.Later(next, now, s.resubscribeLater)
		}
		return
	}
	s.client.Host.Listen(s, true)
}

// resubscribeLater resubscribes, unless a newer attempt has begun since.
func (s *Subscriber) resubscribeLater(now clock.Instant) {
	if s.attempt == s.resubscribing {
		s.resubscribing = 0 // a timer of an earlier attempt may fire late, too
		s.resubscribe(now)
	}
}

// OnBegin is called when an attempt to subscribe begins. It returns the attempt's number, for OnPush.
// Clock pairs of the last subscription are dropped: the next server may have another clock.
func (s *Subscriber) OnBegin(now clock.Instant) int {
	s.attempt++
	s.sentAt = now
	for n := range s.names() {
		if t := n.tenure; t != nil {
			t.clockPair = exchange{}
		}
	}
	return s.attempt
}

// names yields the local names that use this subscription. In a Cluster it does not visit the
// others, because thousands of subscriptions may end at once.
func (s *Subscriber) names() func(yield func(*Name) bool) {
	if s.client.sub == s {
		return maps.Values(s.client.names)
	}
	return func(yield func(*Name) bool) {
		for n := s.first; n != nil; {
			next := n.nextOnSub // yield may remove n
			if !yield(n) {
				return
			}
			n = next
		}
	}
}

// add adds a local name to those that use this subscription.
func (s *Subscriber) add(n *Name) {
	if n.nextOnSub = s.first; n.nextOnSub != nil {
		n.nextOnSub.prevOnSub = n
	}
	s.first = n
}

// remove removes a local name. After the last one it closes the subscription.
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
		s.client.Host.Unlisten(s)
	}
}

// OnConfirm is called when the newest attempt is confirmed: from now on every push arrives. Each
// name asks Redis for what it may have missed before.
func (s *Subscriber) OnConfirm(now clock.Instant) {
	if s.client.Closed {
		return
	}
	s.failed = false
	s.Confirmed, s.confirmedAt = true, now
	s.client.Host.Note(Event{What: SubscriptionConfirmed})
	for n := range s.names() {
		if t := n.tenure; t.phase == queued {
			n.sendLock(now)
		} else if t.phase == asked && t.foundHeld {
			n.askAt = 0 // now it can join the queue
		}
		n.step(now)
	}
	if s.client.sub == s {
		s.client.renewAll(now)
		return
	}
	for n := range s.names() { // a Cluster: the other names have their own
		if t := n.tenure; t.phase == holding {
			n.renewSoon(t, now)
			n.arm(now)
		}
	}
}

// OnBreak is called when the newest attempt has failed, or its subscription has ended. err is the
// reason.
func (s *Subscriber) OnBreak(err error, now clock.Instant) {
	if s.client.Closed {
		return
	}
	if wire.MayHaveMoved(err) {
		s.client.NetFailed = true // the next answer may be another server's
	}
	was := s.Confirmed
	s.failed = true
	s.Confirmed = false
	s.attempt++ // its later pushes are ignored
	if was {
		s.client.Host.Note(Event{What: SubscriptionBroken, Err: err})
	}
	for n := range s.names() {
		t := n.tenure
		switch {
		case t.phase == holding:
			n.renewForRecalls(t, now)
		case t.phase == queued:
			n.askAt = min(n.askAt, now.Add(n.pollInterval(n.seen.position)))
		case t.phase == asked && t.foundHeld && !was:
			if wire.Transient(err) {
				break // it polls until it can subscribe
			}
			n.failed(err, now, now) // without a subscription no waiter may join the queue
		}
		n.step(now)
	}
}

// OnPush takes a push. attempt is the number from OnBegin; pushes of an older attempt are ignored. A
// grant is trusted for one claim window, unless tokensAhead. No other push is trusted alone: it only
// causes an earlier request.
func (s *Subscriber) OnPush(attempt int, m wire.Push, now clock.Instant) {
	if s.client.Closed || attempt != s.attempt {
		return
	}
	c := s.client
	t := c.tenures[m.ID]
	if t == nil {
		c.cancelStaleID(m.ID, now)
		return
	}
	if t.name.sub != s {
		return // in a Cluster a candidate gets the pushes of other candidates for its name, too
	}
	//exhaustive:enforce
	switch m.Word {
	case wire.PushGrant:
		if s.tokensAhead(m, now) {
			t.name.askAboutGrant(t, now)
			break
		}
		if t.phase <= queued && t.name.tenure.successor == t { // the unlock that queued it has run
			t.name.released(nil, now)
		}
		c.granted(t, grant{
			base: m.Base, size: m.Size, waiting: m.Waiting,
			start: t.pushStart(m.Server, s.sentAt, now), ttl: m.Window, recallSure: true, pushed: true,
		}, now)
	case wire.PushHead, wire.PushFront:
		if t.phase <= queued {
			t.name.pollWhenPushed(t, m, now)
		}
	case wire.PushMissed:
		if t.phase <= queued {
			t.name.askAgain(t, now)
		}
	case wire.PushRecall:
		if t.phase == holding {
			t.name.recalled(t)
			t.name.step(now)
		} else if t.phase <= queued {
			t.earlyRecall = true
		}
	case wire.PushRevoked:
		t.name.revocationPushed(t, now)
	}
}

// maxAhead is how far the tokens of a pushed grant may be ahead of the server's clock. A script
// reserves them at most 1 s ahead, unless that clock went back.
const maxAhead = 2 * time.Second

// tokensAhead reports whether a pushed grant has tokens that the server can't have reserved by its
// clock, as far as the newest answer shows it. A client that may publish can forge such a push. A
// resource that has seen its token refuses all honest ones until the clock has passed it.
func (s *Subscriber) tokensAhead(m wire.Push, now clock.Instant) bool {
	known := s.client.answered
	since := now.Sub(known.sent)
	latest := known.server + (since + since/1000 + maxAhead).Microseconds() // the rates of clocks differ
	return m.Base+m.Size-1 > protocol.TokensPerMicrosecond*latest
}

// askAboutGrant makes the next answer decide whether a pushed grant is true.
func (n *Name) askAboutGrant(t *Tenure, now clock.Instant) {
	switch t.phase {
	case asked, queued:
		n.askAgain(t, now)
	case holding:
		n.renew(t, now)
		n.step(now)
	case releasing, ended:
		n.client.cancelID(t.ID, n, now)
	case unreleased:
	}
}

// pollWhenPushed handles a push that our id is the head, or in the front. The push has the time
// of the next poll. A pending answer may be older, and must not delay that poll.
func (n *Name) pollWhenPushed(t *Tenure, m wire.Push, now clock.Instant) {
	if m.Window < 0 {
		return
	}
	longest := 15 * time.Second
	if m.Word == wire.PushFront {
		longest += protocol.FrontSize * protocol.PollPerWaiter
	}
	t.pollBy = now.Add(min(m.Window, longest) + 2*time.Millisecond + n.client.Jitter(10*time.Millisecond))
	if t.phase == queued && t.asking == nil {
		n.askAt = min(n.askAt, t.pollBy) // a foreign holder is polled sooner
		if m.Word == wire.PushHead {
			n.seen.position = 0
		}
		n.arm(now)
	}
}

// askAgain handles the push missed: this Client was silent when its id was the head, so the id
// was taken out of the queue. The Client lives, so the id asks for its old place.
func (n *Name) askAgain(t *Tenure, now clock.Instant) {
	if t.phase != queued || t.asking != nil {
		t.requeue = true // the pending answer may be older
		return
	}
	n.sendLock(now)
	n.arm(now)
}

// sharedSubs are the subscriptions of the shared kinds in a Cluster, by the suffix of
// their channel. The local names of one name share one, which closes with the last of
// them. The engine's mutex protects them.
type sharedSubs map[string]*Subscriber

// add gives a local name in a Cluster its subscription.
func (all *sharedSubs) add(n *Name) {
	n.shard = n.Keys.ShardSuffix()
	if n.sub = (*all)[n.shard]; n.sub == nil || !n.Kind.Shared() {
		n.sub = &Subscriber{client: n.client, Channel: keyspace.PushChannel(n.client.ClientID, n.shard)}
	}
	if n.Kind.Shared() {
		if *all == nil {
			*all = sharedSubs{}
		}
		(*all)[n.shard] = n.sub
	}
	n.sub.add(n)
}

// remove removes a local name from its subscription when the name ends.
func (all sharedSubs) remove(n *Name) {
	n.sub.remove(n)
	if n.Kind.Shared() && n.sub.first == nil {
		delete(all, n.shard)
	}
}
