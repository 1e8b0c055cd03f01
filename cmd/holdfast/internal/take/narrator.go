package take

import (
	"cmp"
	"errors"
	"sync"
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

// blip is how long an outage lasts before it is reported.
const blip = time.Second

// Outage reports once that Redis does not answer, and once that it answers again.
type Outage struct {
	say func(format string, args ...any)

	mu    sync.Mutex // guards the rest
	since time.Time  // of the first failure since the last answer; zero: none
	why   string
	few   bool      // Redis answers, and too few replicas do
	until time.Time // when a lease is lost, unless Redis answers; zero: none is held
	said  bool
	over  bool
	timer *time.Timer
}

// Failed notes that Redis did not answer, or answered with an error. If left is not 0, the
// lease is lost after left.
func (o *Outage) Failed(err error, left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.why, o.few = cli.Why(err), errors.Is(err, holdfast.ErrReplicas)
	o.begin(left)
}

// Overdue notes that Redis has not answered for long, for an unknown reason.
func (o *Outage) Overdue(left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.why = "no answer in time"
	}
	o.begin(left)
}

func (o *Outage) begin(left time.Duration) {
	pause := blip
	if left > 0 {
		o.until = time.Now().Add(left)
		pause = min(pause, left/4)
	}
	if o.since.IsZero() && !o.over {
		o.since = time.Now()
		o.timer = time.AfterFunc(pause, o.speak)
	}
}

func (o *Outage) speak() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || o.said || o.over {
		return
	}
	o.said = true
	who := "Redis does"
	if o.few {
		who = "replicas do"
	}
	if left := time.Until(o.until); left > 0 {
		o.say("%s not answer (%s); still trying, for %s more before the lease is lost", who, o.why, console.Age(left))
	} else {
		o.say("%s not answer (%s); still trying", who, o.why)
	}
}

// answered notes that Redis is there.
func (o *Outage) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said && !o.over {
		who := "Redis answers"
		if o.few {
			who = "replicas answer"
		}
		o.say("%s again, after %s", who, console.Age(time.Since(o.since)))
	}
	o.forget()
}

// End ends the reports: from now on the end of the command says what happened.
func (o *Outage) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.forget()
}

// Again begins the reports again after End.
func (o *Outage) Again() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = false
}

func (o *Outage) forget() {
	if o.timer != nil {
		o.timer.Stop()
	}
	o.since, o.until, o.said = time.Time{}, time.Time{}, false
}
