package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast"
)

// narrator turns the library's events into messages: outages always, the others with
// --verbose. Its methods are called by one goroutine.
type narrator struct {
	outage *outage
	detail func(format string, args ...any)
	say    func(format string, args ...any)
	over   chan struct{} // gets one when the end of the lease was reported

	line    holdfast.Queued // the newest that was reported
	trouble bool            // a renewal failed and none was answered since
}

func (a *app) newNarrator() *narrator {
	return &narrator{outage: &outage{say: a.say}, say: a.say, detail: a.detail, over: make(chan struct{}, 1)}
}

// end ends the telling, after the last event of a lease that was given back, if
// that is to be waited for.
func (n *narrator) end(wait bool) {
	n.outage.end()
	if wait {
		select {
		case <-n.over:
		case <-time.After(time.Second):
		}
	}
}

func (n *narrator) event(e holdfast.Event) {
	switch e := e.(type) {
	case holdfast.Queued:
		n.outage.answered()
		n.queued(e)
	case holdfast.Granted:
		n.outage.answered()
		n.detail("granted: %s with token %d, after %s", e.Name, e.Token, duration(e.Waited))
	case holdfast.RenewFailed:
		n.trouble = true
		n.outage.failed(e.Err, e.Remaining)
		n.detail("renewal of %s failed, %s left: %s", e.Name, duration(e.Remaining), why(e.Err))
	case holdfast.Renewed:
		n.outage.answered()
		if n.trouble {
			n.detail("renewed %s again, %s left", e.Name, duration(e.Remaining))
		}
		n.trouble = false
	case holdfast.Recalled:
		n.detail("recalled: another process waits for %s", e.Name)
	case holdfast.Lost:
		n.detail("lost %s: %s", e.Name, causeText(e.Cause, e.Reason))
		n.ended()
	case holdfast.Released:
		n.detail("released %s after %s", e.Name, duration(e.Held))
		n.ended()
	case holdfast.SubscriptionConfirmed:
		n.outage.answered()
		n.detail("subscribed: a grant arrives at once")
	case holdfast.SubscriptionBroken:
		n.subscriptionBroken(e.Err)
	case holdfast.Dropped:
		n.detail("%d events were dropped: they came too fast", e.N)
	}
}

func (n *narrator) ended() {
	select {
	case n.over <- struct{}{}:
	default:
	}
}

// queued reports a new place in the queue.
func (n *narrator) queued(e holdfast.Queued) {
	if e.Position == n.line.Position && e.Holder == n.line.Holder && n.line.Name != "" {
		return
	}
	n.line = e
	if e.Holder == "" && e.Remaining == 0 { // of a semaphore or RWMutex: it waits for the waiters before it
		n.detail("queued: %s; %s in the queue", e.Name, ordinal(e.Position+1))
		return
	}
	n.detail("queued: %s is held by %s; %s in the queue", e.Name, cmp.Or(e.Holder, "(not holdfast)"), ordinal(e.Position+1))
}

func (n *narrator) subscriptionBroken(err error) {
	if err == nil {
		err = errors.New("the connection ended")
	}
	n.outage.failed(err, 0)
	n.detail("the subscription broke (%s): polling until it is back", why(err))
}
