package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Check asks Redis whether a turn that has not ended has the name.
func (u *Turn) Check(now clock.Instant) *Request { return u.Local.check(u.Tenure, now) }

// Prolong renews at once: it reserves at least that number of tokens, and extends a lease that is
// not renewed by itself.
func (u *Turn) Prolong(now clock.Instant, tokens int64, extends time.Duration) *Request {
	return u.Local.renewNow(u.Tenure, now, tokens, extends)
}

// RenewNow renews, also where a renewal is under way: it may have run before the reason for this one.
func (u *Turn) RenewNow(now clock.Instant) {
	n, t := u.Local, u.Tenure
	if n.P.Closed || t.phase != holding || n.tenure != t {
		return
	}
	n.renew(t, now)
	n.arm(now)
}

// Confirm asks Redis about each tenure that holds the name. One that is still sought asks when it has
// been granted.
func (p *Process) Confirm(name string, now clock.Instant) (all []*Request) {
	if p.Closed {
		return nil
	}
	var those []*Tenure
	for _, t := range p.tenures {
		if t.local.Name == name {
			those = append(those, t)
		}
	}
	slices.SortFunc(those, func(a, b *Tenure) int { return cmp.Compare(a.Id, b.Id) }) // so that simulated time repeats itself
	for _, t := range those {
		switch {
		case t.phase != holding:
			t.verifySince = now
		case !t.isOver(now):
			all = append(all, t.local.checkNow(t, now))
		}
	}
	return all
}

// check asks whether a tenure has the name.
func (n *Name) check(t *Tenure, now clock.Instant) *Request {
	args := []string{t.Id}
	if n.Kind.isShrunk() {
		args = append(args, n.Kind.Shrunk.formerIDs...)
	}
	return n.P.sendScript(script.Held, n, t, now, args, (*Request).checkAnswered)
}

func (r *Request) checkAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Local, r.Tenure
	renews := t.renewal == r // it stands in the place of a renewal: without an answer another follows, as of any
	if renews {
		t.renewal = nil
	}
	if r.outdated() && err == nil && a.Word != "ours" {
		err = wire.ErrNoAnswer // its id has been replaced
	}
	if t.phase == holding {
		switch {
		case err == nil && a.Word == "ours":
			t.confirmHeld(r.Sent)
			n.stopRenewing(t)
			r.HeldUntil = clock.Never
			if a.PTTL >= 0 { // else another client removed the expiry
				r.HeldUntil = clock.Deadline(r.Sent, a.PTTL)
			}
		case err == nil && (a.Word == "lost" || a.Word == "stolen"):
			n.lose(t, a, now)
		case err == nil && a.Word == "revoked":
			n.retire(revoked, a.Reason, now)
		case err == nil:
			err = fmt.Errorf("held was answered %q", a.Word)
		}
		if renews && err != nil && t.phase == holding {
			t.failures++
			n.retryRenewal(t, now)
		}
		n.step(now)
	}
	n.P.Host.Answer(r, err)
}

// renewNow sends a renewal that waits for no other.
func (n *Name) renewNow(t *Tenure, now clock.Instant, tokens int64, extends time.Duration) *Request {
	attempt := n.patienceToRenew(t, now)
	t.expiry = max(t.expiry, now.Add(n.Kind.Ttl))
	args, least := n.renewArgs(t, now, tokens)
	if extends > least {
		least = extends
		args[2] = wire.Millis(least)
	}
	r := &Request{
		Call: n.callFor(script.Renew, args), minTTL: least,
		Local: n, Tenure: t, Sent: now, Attempt: attempt, OnAnswer: (*Request).renewAnswered, extendBy: extends,
	}
	t.minHold.sent(r, now)
	t.reserves(r)
	n.P.Host.Send(r)
	return r
}
