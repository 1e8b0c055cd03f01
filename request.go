package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// request is one run of a script on its way. An answer may come after seconds, twice or
// never: the state decides what it still means. The request only has what it was about.
type request struct {
	call      driver.Call
	local     *localName
	tenure    *tenure       // whose id it speaks of
	minTTL    time.Duration // of a renewal: how long the lock key has to live, beyond the ttl
	part      *ballot.Call  // what a node of a quorum is to answer; nil: it is no such request
	sent      clock.Instant // read before it was sent: what the answer proves begins here
	attempt   time.Duration
	waits     bool          // a caller that blocks was here when it was noted
	unsent    bool          // a renewal that no pipeline has taken yet
	reserving bool          // counted among the reservations of its tenure
	wholeOnly bool          // it does not fall back to the lock key only
	extendBy  time.Duration // a renewal by Lease.Extend; else 0
	heldUntil clock.Instant // of a check: until when the name is ours, as Redis says; 0: no answer yet
	onAnswer  func(r *request, a wire.Answer, err error, now clock.Instant)
	parts     []*request // locks of several names that travel as this one; see group

	acked, connected int // replicas: of a renewal with WaitReplicas
}

// handleAnswer takes an answer, or the reason why there is none.
func (p *process) handleAnswer(r *request, a wire.Answer, err error, now clock.Instant) {
	if p.closed {
		if id := r.lockedID(); id != "" && p.exportedIDs.Of(id) == nil { // it may have run after its cancel
			p.lateCleanups = append(p.lateCleanups, p.endCall(id, r.local, script.Cancel, now))
		}
		return
	}
	err = r.explained(err)
	if err == nil {
		p.lastAnswer = now
	}
	if err != nil && wire.MayHaveMoved(err) {
		p.netFailed = true
	} else if p.netFailed {
		// The store answers again, perhaps another server than before: a renewal
		// shows now what it does not know of us.
		p.netFailed, p.netFailureOver = false, now
		p.renewAllSoon(now)
	}
	if a.Refused != "" {
		p.refusedToPublish(a.Refused, now)
	}
	r.onAnswer(r, a, err, now)
}

// explained is an error as people are to read it.
func (r *request) explained(err error) error {
	err = wire.WithoutContext(err)
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, r.call.Keys[0])
	}
	return err
}

// lockedID is the id that a request may have put into the lock key or the queue, if any.
func (r *request) lockedID() string {
	switch r.call.Script {
	case script.Lock, script.SharedLock, script.Adopt, script.Take, script.OnceLock:
		return r.call.Args[0]
	case script.Unlock:
		if len(r.call.Args) > 2 {
			return r.call.Args[2]
		}
	case script.Cooldown:
		return r.call.Args[4]
	}
	return ""
}

// mayBeContended reports whether others may want the name: a script for several names does not
// do it then.
func (r *request) mayBeContended() bool {
	n, t := r.local, r.tenure
	return n.notBatched || n.seen.known || t != nil && t.servesUpTo > 0 // recalled: somebody waits
}

// goAlone notes that the script for several names has left this one out.
func (n *localName) goAlone() { n.notBatched = true }

// keysFor are the keys of a script that speaks of this name.
func (n *localName) keysFor(s *driver.Script, args []string) []string {
	switch {
	case s == script.Adopt || s == script.Take:
		return n.keys.WithRevocation()
	case s == script.Held:
		return []string{n.keys.Lock(), n.keys.Revocation()}
	case s == script.OnceLock:
		return append(n.keys[:], n.keys.WithOnce()[1])
	case s != script.Renew:
		return n.keys[:]
	case n.renewKeys == nil: // it comes often, and is asked again and again
		n.renewKeys = n.keys.ToRenew()
	}
	if len(args) > 1 {
		return n.renewKeys
	}
	return n.renewKeys[:3]
}

// sendScript notes a request; it goes out when the mutex is released. It is sent
// after now was read, so now is a safe start for what it will prove.
func (p *process) sendScript(s *driver.Script, n *localName, t *tenure, now clock.Instant, args []string, answered func(*request, wire.Answer, error, clock.Instant)) *request {
	r := &request{
		call:     n.callFor(s, args),
		local:    n,
		tenure:   t,
		sent:     now,
		attempt:  p.attempt(),
		waits:    n.waiters.anyBlocking(),
		onAnswer: answered,
	}
	if s == script.Renew || s == script.Held {
		r.attempt = n.patienceToRenew(t, now)
	}
	r.unsent = s == script.Renew && t.confirmed // else a caller waits for it: it has a WAIT of its own
	p.host.send(r)
	return r
}
