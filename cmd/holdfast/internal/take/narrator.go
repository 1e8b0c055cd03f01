package take

import (
	"cmp"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
)

// Narrator turns the library's events into messages: outages always, the others with
// --verbose. Its methods are called by one goroutine.
type Narrator struct {
	Outage *Outage
	detail func(format string, args ...any)
	over   chan struct{} // gets one when the end of the lease was reported

	line    holdfast.Queued // the newest that was reported
	trouble bool            // a renewal failed and none was answered since
}

// NewNarrator talks as the flags of a say.
func NewNarrator(a *cli.App) *Narrator {
	return &Narrator{Outage: &Outage{say: a.Say}, detail: a.Detail, over: make(chan struct{}, 1)}
}

// End ends the narration. With wait, it first waits for the last event of a released lease.
func (n *Narrator) End(wait bool) {
	n.Outage.End()
	if wait {
		select {
		case <-n.over:
		case <-time.After(time.Second):
		}
	}
}

// Event is for Options.OnEvent.
func (n *Narrator) Event(e holdfast.Event) {
	switch e := e.(type) {
	case holdfast.Queued:
		n.Outage.answered()
		n.queued(e)
	case holdfast.Granted:
		n.Outage.answered()
		n.detail("granted: %s with token %d, after %s", e.Name, e.Token, console.Duration(e.Waited))
	case holdfast.RenewFailed:
		n.trouble = true
		n.Outage.Failed(e.Err, e.Remaining)
		n.detail("renewal of %s failed, %s left: %s", e.Name, console.Duration(e.Remaining), cli.Why(e.Err))
	case holdfast.Renewed:
		n.Outage.answered()
		if n.trouble {
			n.detail("renewed %s again, %s left", e.Name, console.Duration(e.Remaining))
		}
		n.trouble = false
	case holdfast.Recalled:
		n.detail("recalled: another process waits for %s", e.Name)
	case holdfast.Lost:
		n.detail("lost %s: %s", e.Name, inspect.CauseText(e.Cause, e.Reason))
		n.ended()
	case holdfast.LeaseExported:
		n.detail("exported %s: it stays held", e.Name)
		n.ended()
	case holdfast.ExportReleased:
		n.detail("released %s, which was exported", e.Name)
	case holdfast.Released:
		n.detail("released %s after %s", e.Name, console.Duration(e.Held))
		n.ended()
	case holdfast.SubscriptionConfirmed:
		n.Outage.answered()
		n.detail("subscribed: a grant arrives at once")
	case holdfast.SubscriptionBroken:
		n.subscriptionBroken(e.Err)
	case holdfast.Dropped:
		n.detail("%d events were dropped: they came too fast", e.N)
	case holdfast.Repaired, holdfast.SizeMismatch: // the client warns of both
	}
}

func (n *Narrator) ended() {
	select {
	case n.over <- struct{}{}:
	default:
	}
}

// queued reports a new place in the queue.
func (n *Narrator) queued(e holdfast.Queued) {
	if e.Position == n.line.Position && e.Holder == n.line.Holder && n.line.Name != "" {
		return
	}
	n.line = e
	if e.Holder == "" && e.Remaining == 0 { // of a semaphore or RWMutex: it waits for the waiters before it
		n.detail("queued: %s; %s in the queue", e.Name, console.Ordinal(e.Position+1))
		return
	}
	n.detail("queued: %s is held by %s; %s in the queue", e.Name, cmp.Or(e.Holder, "(not holdfast)"), console.Ordinal(e.Position+1))
}

func (n *Narrator) subscriptionBroken(err error) {
	if err == nil {
		err = errors.New("the connection ended")
	}
	n.Outage.Failed(err, 0)
	n.detail("the subscription broke (%s): polling until it is back", cli.Why(err))
}
