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

// check asks Redis whether a turn that has not ended has the name.
func (u *turn) check(now clock.Instant) *request { return u.local.check(u.tenure, now) }

// prolong renews at once: it reserves at least that number of tokens, and extends a lease that is
// not renewed by itself.
func (u *turn) prolong(now clock.Instant, tokens int64, extends time.Duration) *request {
	return u.local.renewNow(u.tenure, now, tokens, extends)
}

// renewNow renews, also where a renewal is under way: it may have run before the reason for this one.
func (u *turn) renewNow(now clock.Instant) {
	n, t := u.local, u.tenure
	if n.p.closed || t.phase != holding || n.tenure != t {
		return
	}
	n.renew(t, now)
	n.arm(now)
}

// confirm asks Redis about each tenure that holds the name. One that is still sought asks when it has
// been granted.
func (p *process) confirm(name string, now clock.Instant) (all []*request) {
	if p.closed {
		return nil
	}
	var those []*tenure
	for _, t := range p.tenures {
		if t.local.name == name {
			those = append(those, t)
		}
	}
	slices.SortFunc(those, func(a, b *tenure) int { return cmp.Compare(a.id, b.id) }) // so that simulated time repeats itself
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
func (n *localName) check(t *tenure, now clock.Instant) *request {
	args := []string{t.id}
	if n.kind.isShrunk() {
		args = append(args, n.kind.shrunk.formerIDs...)
	}
	return n.p.sendScript(script.Held, n, t, now, args, (*request).checkAnswered)
}

func (r *request) checkAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.local, r.tenure
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
			t.confirmHeld(r.sent)
			n.stopRenewing(t)
			r.heldUntil = clock.Never
			if a.PTTL >= 0 { // else another client removed the expiry
				r.heldUntil = clock.Deadline(r.sent, a.PTTL)
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
	n.p.host.answer(r, err)
}

// renewNow sends a renewal that waits for no other.
func (n *localName) renewNow(t *tenure, now clock.Instant, tokens int64, extends time.Duration) *request {
	attempt := n.patienceToRenew(t, now)
	t.expiry = max(t.expiry, now.Add(n.kind.ttl))
	args, least := n.renewArgs(t, now, tokens)
	if extends > least {
		least = extends
		args[2] = wire.Millis(least)
	}
	r := &request{
		call: n.callFor(script.Renew, args), minTTL: least,
		local: n, tenure: t, sent: now, attempt: attempt, onAnswer: (*request).renewAnswered, extendBy: extends,
	}
	t.minHold.sent(r, now)
	t.reserves(r)
	n.p.host.send(r)
	return r
}
