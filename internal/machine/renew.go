package machine

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// renew sends a renewal or a check, also if one is in flight. One without an answer when the next is
// due has failed. renew does nothing for a tenure that is over: the next step ends it.
func (n *Name) renew(t *Tenure, now clock.Instant) {
	if n.over(now) != "" {
		return
	}
	check := t.Try(now, n.client.Jitter)
	switch {
	case t.renewal != nil && t.renewal.Unsent: // it has yet to be sent
	case check:
		t.renewal = n.check(t, now)
	default:
		t.renewal = n.sendRenewal(t, now, 0, 0, t.acknowledged) // not acknowledged: it is sent at once, with a WAIT of its own, because a local waiter waits for it
	}
}

// MarkSent is called when the pipeline for which a renewal waited is about to be sent: its ttl counts from now.
// It returns false if the renewal must not be sent, because the tenure was released, ended or
// exported meanwhile.
func (r *Request) MarkSent(now clock.Instant) bool {
	t := r.Tenure
	if t.phase != holding {
		return false
	}
	r.Sent, r.Unsent = now, false
	t.noteRenewal(r, now)
	return true
}

// sendRenewal sends a renewal that reserves at least that number of tokens. If extends is not 0, it is
// the new ttl. One that is unsent waits for a pipeline, see MarkSent.
func (n *Name) sendRenewal(t *Tenure, now clock.Instant, tokens int64, extends time.Duration, unsent bool) *Request {
	r := &Request{
		Renews: true, renewal: lifetime.Renewal{Extend: extends}, Replicas: n.client.WaitReplicas, Unsent: unsent, weight: n.Kind.shrunk.weight,
		Name: n, Tenure: t, Sent: now, Attempt: t.Patience(now), OnAnswer: (*Request).renewAnswered,
	}
	r.Call = n.callFor(script.Renew, r.renewArgs(tokens))
	t.noteRenewal(r, now)
	n.contact.sent(now)
	n.client.Host.Send(r)
	return r
}

// noteRenewal notes what a renewal may do in Redis from now on. An unsent one reserves no tokens
// yet, but its ttl counts already, because its arguments are made.
func (t *Tenure) noteRenewal(r *Request, now clock.Instant) {
	t.Sent(r.renewal, now)
	if !r.Unsent && r.reserves {
		r.reserving = true
		t.reservations++
	}
}

// renewArgs decides what a renewal asks for, at least that number of tokens, and returns its arguments.
func (r *Request) renewArgs(tokens int64) []string {
	n, t := r.Name, r.Tenure
	args := []string{t.ID}
	if r.fence = true; r.weight > 0 {
		return append(args, "0", n.shard, wire.Itoa(r.weight))
	}
	if tokens = max(t.tokens.Wanted(), tokens); n.Kind.oneTurn && t.turns > 0 {
		tokens = 0
	}
	var next lifetime.Limits
	if w := n.waiters.first; n.turn == nil && w != nil {
		next = w.Limits
	}
	r.reserves, r.renewal.MinTTL = tokens > 0, max(t.RequiredTTL(next, r.Sent), r.renewal.Extend)
	if r.fence = r.reserves || r.renewal.MinTTL > 0 || t.Terms.Memory > 0 || r.Sent >= t.fenceRenewedAt.Add(fenceEvery); r.fence {
		args = append(args, wire.Itoa(tokens))
	}
	if r.renewal.MinTTL > 0 {
		args = append(args, wire.Millis(r.renewal.MinTTL))
	}
	return args
}

// renewSoon renews ahead of time, unless that is under way or has just failed.
func (n *Name) renewSoon(t *Tenure, now clock.Instant) {
	if t.renewal == nil && (t.Failures == 0 || now >= t.RenewAt) {
		n.renew(t, now)
	}
}

// fenceEvery is how often a renewal prolongs the fence key too, which lives that much longer
// than it must. If it lives for less than by default, each renewal prolongs it: it may live no longer
// than the ttl.
const fenceEvery = time.Hour

func (r *Request) renewAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Name, r.Tenure
	defer func() { n.client.Host.Answer(r, err) }()
	renewed := err == nil && (a.Word == wire.Renewed || a.Word == wire.Kept)
	if renewed {
		t.Expiry = max(t.Expiry, now.Add(max(n.Kind.TTL, r.renewal.Extend)))
	}
	if t.phase != holding {
		return // it has ended meanwhile: harmless
	}
	if r.reserving {
		t.reservations--
	}
	t.tokens.Reserved(a.Base, a.Size)
	if t.renewal == r {
		t.renewal = nil
	}
	slack := t.Slack(now)
	switch {
	case now >= t.Ends(): // never revived
	case renewed && r.Acked < n.client.WaitReplicas:
		n.tooFewReplicas(r, a, now)
	case renewed:
		t.Renewed(r.renewal, r.Sent, now, n.client.Jitter)
		t.Replicas.Store(int32(r.Acked))
		t.acknowledged, n.unacknowledgedSince = true, 0
		if a.Word == wire.Renewed {
			n.renewedWhole(r, a, now)
		} else {
			t.Failures = 1 // it must learn soon whether others wait, but not in a busy loop
			t.RenewAt = min(t.RenewAt, now.Add(50*time.Millisecond+n.client.Jitter(50*time.Millisecond)))
		}
		n.client.Host.Note(Event{What: Renewed, Name: n.Text, Remaining: t.Ends().Sub(now), Replicas: r.Acked, Slack: slack})
	case err == nil && n.endedInRedis(t, a, now):
	default:
		if err == nil {
			err = r.unexpected(a)
		}
		n.renewFailed(t, err, now)
		if !t.acknowledged {
			n.acknowledgeFailed(err, r.Sent, now)
		}
	}
	t.Settle()
	n.step(now)
}

// renewedWhole handles the answer of a renewal that had all keys, not only the lock key.
func (n *Name) renewedWhole(r *Request, a wire.Answer, now clock.Instant) {
	t := r.Tenure
	t.tokens.Add(a.Base, a.Size)
	n.weightStored(r.weight)
	if r.fence {
		t.fenceRenewedAt = r.Sent
	}
	if n.sub.confirmedBefore(r.Sent) {
		t.recallSure = true
	} else if n.sub.Confirmed { // a recall may have been missed since it ran
		t.RenewAt = min(t.RenewAt, now)
	}
	if a.Waiting > 0 {
		n.recalled(t)
	}
	n.renewForRecalls(t, now)
}

func (n *Name) renewFailed(t *Tenure, err error, now clock.Instant) {
	if n.Kind.shrunk.unstored {
		n.Kind.shrunk.lastErr = err
	}
	t.Failed(now, n.client.Jitter)
	n.client.Host.Note(Event{What: RenewFailed, Name: n.Text, Err: err, Remaining: t.Ends().Sub(now), Slack: t.Slack(now)})
}

// renewForRecalls renews every 0.5 to 1 s while the subscription is broken and the name has
// local waiters or lingers. A recall would be missed, but the answer to renew shows
// whether another client waits.
func (n *Name) renewForRecalls(t *Tenure, now clock.Instant) {
	if n.sub.wanted && !n.sub.Confirmed && (n.waiters.n > 0 || t.LingerUntil > 0) {
		t.RenewAt = min(t.RenewAt, now.Add(time.Second/2+n.client.Jitter(time.Second/2)))
	}
}

// endedInRedis ends a tenure if the answer says that it is over in Redis. It reports whether it
// has ended the tenure.
func (n *Name) endedInRedis(t *Tenure, a wire.Answer, now clock.Instant) bool {
	switch a.Word {
	case wire.Lost, wire.Stolen:
		n.lose(t, a, now)
	case wire.Revoked:
		n.stop(lifetime.Revoked, a.Reason, now)
	default:
		return false
	}
	return true
}

// lose ends a tenure that Redis does not know any more, or that was stolen.
func (n *Name) lose(t *Tenure, a wire.Answer, now clock.Instant) {
	why := lifetime.Cause(a.Ending())
	u := n.turn
	n.turn = nil
	n.client.endTenure(t, now)
	n.client.cancelStaleID(a.Holder, now)
	if why != lifetime.Stolen {
		n.client.renewAllSoon(now) // other tenures may be lost, too
	}
	if u != nil {
		u.end(&Lost{Name: n.Text, Token: u.Token, Cause: why, Reason: a.Reason}, now)
	}
}

// renewAllSoon calls renewAll at once or, if that has just run, a little later: if half of the
// servers of a Cluster fail, answers follow errors again and again.
func (c *Client) renewAllSoon(now clock.Instant) {
	if c.renewedAllAt > now {
		return // it is due already
	}
	interval := max(500*time.Millisecond, time.Duration(len(c.names))*100*time.Microsecond) // at most a tenth of what Redis can do
	c.renewedAllAt = max(now, c.renewedAllAt.Add(min(interval, c.TTL/6)))
	c.Later(c.renewedAllAt, now, c.renewAll)
}

// renewAll renews all held tenures, nearest deadline first. After a reconnect another server may
// answer, or one that has lost its data.
func (c *Client) renewAll(now clock.Instant) {
	if c.Closed {
		return
	}
	c.renewedAllAt = now
	var held []*Tenure
	for _, n := range c.names {
		if t := n.tenure; t.phase == holding && (t.renewal == nil || t.Failures == 0 || t.renewal.Sent < c.netFailureOver) {
			held = append(held, t)
		}
	}
	slices.SortFunc(held, func(a, b *Tenure) int { // equal deadlines by id, so that a simulation is repeatable
		return cmp.Or(cmp.Compare(a.Ends(), b.Ends()), cmp.Compare(a.ID, b.ID))
	})
	for _, t := range held {
		t.name.renew(t, now)
		t.name.arm(now)
	}
}

// With Options.WaitReplicas a failover must not undo a turn that a waiter got. So a
// grant gives no turn until enough replicas have acknowledged a renewal of it. A
// renewal moves the deadline, and its tokens are used, only if enough replicas have
// acknowledged it. The renewal and its WAIT use one connection, because WAIT
// covers only the writes of its own connection. See docs/protocol.md.

// awaitAcknowledged renews a tenure that was granted, before a local waiter gets a turn.
func (n *Name) awaitAcknowledged(t *Tenure, now clock.Instant) {
	patience := n.client.Patience()
	if now >= n.unacknowledgedSince.Add(2*patience) {
		n.unacknowledgedSince = 0 // it failed before a long wait in the queue
	}
	switch {
	case n.waiters.n == 0:
		n.sendRelease(now)
	case n.unacknowledgedSince > 0 && now >= n.unacknowledgedSince.Add(patience):
		n.giveBackUnacknowledged(wire.Failure(n.Text, wire.ErrUnreachable, n.lastErr), now)
	default:
		n.renewSoon(t, now)
	}
}

// giveBackUnacknowledged gives a grant back, and rejects the waiters.
func (n *Name) giveBackUnacknowledged(err error, now clock.Instant) {
	n.unacknowledgedSince = 0
	n.reject(err)
	n.sendRelease(now)
}

// acknowledgeFailed handles a failed renewal of an unacknowledged grant: it is unknown whether the
// replicas have the grant.
func (n *Name) acknowledgeFailed(err error, since, now clock.Instant) {
	if n.unacknowledgedSince == 0 {
		n.unacknowledgedSince = since
	}
	n.lastErr = err
	if !wire.Transient(err) {
		n.giveBackUnacknowledged(wire.Failure(n.Text, nil, err), now)
	}
}

// tooFewReplicas handles a renewal that the master has and too few replicas have. An unacknowledged
// grant is given back. A tenure with a turn is renewed again until its deadline.
func (n *Name) tooFewReplicas(r *Request, a wire.Answer, now clock.Instant) {
	t := r.Tenure
	err := &TooFewReplicas{Name: n.Text, Want: n.client.WaitReplicas, Got: r.Acked, Connected: r.Connected}
	if a.Waiting > 0 {
		n.recalled(t)
	}
	if !t.acknowledged {
		n.giveBackUnacknowledged(err, now)
		return
	}
	n.renewFailed(t, err, now)
}

// Check asks Redis whether a turn still holds the name. The turn must not have ended. The host gets
// the result by Answer, and the request has HeldUntil.
func (u *Turn) Check(now clock.Instant) *Request { return u.Name.check(u.Tenure, now) }

// Prolong renews at once, and reserves at least that number of tokens. If extends is not 0, it is the
// new ttl, see Lease.Extend. The turn must not have ended. The host gets the result by Answer.
func (u *Turn) Prolong(now clock.Instant, tokens int64, extends time.Duration) *Request {
	return u.Name.sendRenewal(u.Tenure, now, tokens, extends, false)
}

// RenewNow renews, also if a renewal is in flight: that one may have run too early. It does
// nothing if the tenure has ended.
func (u *Turn) RenewNow(now clock.Instant) {
	n, t := u.Name, u.Tenure
	if n.client.Closed || t.phase != holding || n.tenure != t {
		return
	}
	n.renew(t, now)
	n.arm(now)
}

// Verify asks Redis about each tenure that holds the name, and returns these requests. The host gets
// their results by Answer. A tenure that was not granted yet asks after its grant. Verify returns
// nil after Close.
func (c *Client) Verify(name string, now clock.Instant) (all []*Request) {
	if c.Closed {
		return nil
	}
	var those []*Tenure
	for _, t := range c.tenures {
		if t.name.Text == name {
			those = append(those, t)
		}
	}
	slices.SortFunc(those, func(a, b *Tenure) int { return cmp.Compare(a.ID, b.ID) }) // so that a simulation is repeatable
	for _, t := range those {
		switch {
		case t.phase != holding:
			t.VerifySince = now
		case t.name.over(now) != "":
		case t.ChecksOnly:
			t.name.renew(t, now)
			t.name.arm(now)
			all = append(all, t.renewal)
		default:
			all = append(all, t.name.sendRenewal(t, now, 0, 0, false))
		}
	}
	return all
}

// check asks whether a tenure has the name.
func (n *Name) check(t *Tenure, now clock.Instant) *Request {
	r := &Request{
		Call: n.callFor(script.Held, []string{t.ID}), Name: n, Tenure: t,
		Sent: now, Attempt: t.Patience(now), OnAnswer: (*Request).checkAnswered,
	}
	n.contact.sent(now)
	n.client.Host.Send(r) // a quorum takes the Attempt from it
	return r
}

func (r *Request) checkAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Name, r.Tenure
	renews := t.renewal == r // it replaces a renewal, and is repeated like one
	if renews {
		t.renewal = nil
	}
	if t.phase == holding {
		switch {
		case err == nil && a.Word == wire.Ours:
			t.Verified(r.Sent)
			r.HeldUntil = clock.Never
			if a.PTTL >= 0 { // else another client removed the expiry
				r.HeldUntil = clock.Deadline(r.Sent, a.PTTL)
			}
		case err == nil && n.endedInRedis(t, a, now):
		case err == nil:
			err = r.unexpected(a)
		}
		if renews && err != nil && t.phase == holding {
			t.Failed(now, n.client.Jitter)
		}
		n.step(now)
	}
	n.client.Host.Answer(r, err)
}
