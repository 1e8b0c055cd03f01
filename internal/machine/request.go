package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Request is one run of a script on its way. An answer may come after seconds, twice or
// never: the state decides what it still means. The request only has what it was about.
type Request struct {
	Call      driver.Call
	Local     *Name
	Tenure    *Tenure       // whose id it speaks of
	minTTL    time.Duration // of a renewal: how long the lock key has to live, beyond the ttl
	Part      *ballot.Call  // what a node of a quorum is to answer; nil: it is no such request
	Sent      clock.Instant // read before it was sent: what the answer proves begins here
	Attempt   time.Duration
	Waits     bool          // a caller that blocks was here when it was noted
	Unsent    bool          // a renewal that no pipeline has taken yet
	reserving bool          // counted among the reservations of its tenure
	WholeOnly bool          // it does not fall back to the lock key only
	extendBy  time.Duration // a renewal by Lease.Extend; else 0
	HeldUntil clock.Instant // of a check: until when the name is ours, as Redis says; 0: no answer yet
	OnAnswer  func(r *Request, a wire.Answer, err error, now clock.Instant)
	Parts     []*Request // locks of several names that travel as this one; see group

	Acked, Connected int // replicas: of a renewal with WaitReplicas
}

// HandleAnswer takes an answer, or the reason why there is none.
func (p *Process) HandleAnswer(r *Request, a wire.Answer, err error, now clock.Instant) {
	if p.Closed {
		if id := r.lockedID(); id != "" && p.exportedIDs.Of(id) == nil { // it may have run after its cancel
			p.LateCleanups = append(p.LateCleanups, p.endCall(id, r.Local, script.Cancel, now))
		}
		return
	}
	err = r.Explained(err)
	if err == nil {
		p.LastAnswer = now
	}
	if err != nil && wire.MayHaveMoved(err) {
		p.NetFailed = true
	} else if p.NetFailed {
		// The store answers again, perhaps another server than before: a renewal
		// shows now what it does not know of us.
		p.NetFailed, p.netFailureOver = false, now
		p.renewAllSoon(now)
	}
	if a.Refused != "" {
		p.refusedToPublish(a.Refused, now)
	}
	r.OnAnswer(r, a, err, now)
}

// Explained is an error as people are to read it.
func (r *Request) Explained(err error) error {
	err = wire.WithoutContext(err)
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, r.Call.Keys[0])
	}
	return err
}

// lockedID is the id that a request may have put into the lock key or the queue, if any.
func (r *Request) lockedID() string {
	switch r.Call.Script {
	case script.Lock, script.SharedLock, script.Adopt, script.Take, script.OnceLock:
		return r.Call.Args[0]
	case script.Unlock:
		if len(r.Call.Args) > 2 {
			return r.Call.Args[2]
		}
	case script.Cooldown:
		return r.Call.Args[4]
	}
	return ""
}

// MayBeContended reports whether others may want the name: a script for several names does not
// do it then.
func (r *Request) MayBeContended() bool {
	n, t := r.Local, r.Tenure
	return n.notBatched || n.seen.known || t != nil && t.servesUpTo > 0 // recalled: somebody waits
}

// GoAlone notes that the script for several names has left this one out.
func (n *Name) GoAlone() { n.notBatched = true }

// keysFor are the keys of a script that speaks of this name.
func (n *Name) keysFor(s *driver.Script, args []string) []string {
	switch {
	case s == script.Adopt || s == script.Take:
		return n.Keys.WithRevocation()
	case s == script.Held:
		return []string{n.Keys.Lock(), n.Keys.Revocation()}
	case s == script.OnceLock:
		return append(n.Keys[:], n.Keys.WithOnce()[1])
	case s != script.Renew:
		return n.Keys[:]
	case n.renewKeys == nil: // it comes often, and is asked again and again
		n.renewKeys = n.Keys.ToRenew()
	}
	if len(args) > 1 {
		return n.renewKeys
	}
	return n.renewKeys[:3]
}

// sendScript notes a request; it goes out when the mutex is released. It is sent
// after now was read, so now is a safe start for what it will prove.
func (p *Process) sendScript(s *driver.Script, n *Name, t *Tenure, now clock.Instant, args []string, answered func(*Request, wire.Answer, error, clock.Instant)) *Request {
	r := &Request{
		Call:     n.callFor(s, args),
		Local:    n,
		Tenure:   t,
		Sent:     now,
		Attempt:  p.Attempt(),
		Waits:    n.waiters.anyBlocking(),
		OnAnswer: answered,
	}
	if s == script.Renew || s == script.Held {
		r.Attempt = n.patienceToRenew(t, now)
	}
	r.Unsent = s == script.Renew && t.confirmed // else a caller waits for it: it has a WAIT of its own
	p.Host.Send(r)
	return r
}
