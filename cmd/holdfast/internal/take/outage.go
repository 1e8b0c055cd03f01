package take

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// blip is how long Redis may be away without a word about it.
const blip = time.Second

// Outage reports once that Redis does not answer, and once that it answers again.
type Outage struct {
	say func(format string, args ...any)

	mu    sync.Mutex // guards the rest
	since time.Time  // of the first failure since the last answer; zero: none
	why   string
	few   bool      // it is the replicas that do not
	until time.Time // when a lease is lost, unless Redis answers; zero: none is held
	said  bool
	over  bool
	timer *time.Timer
}

// Failed notes that Redis did not answer, or not as it should. What is held is
// lost after left, if that is not 0.
func (o *Outage) Failed(err error, left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.why, o.few = cli.Why(err), errors.Is(err, holdfast.ErrReplicas)
	o.begin(left)
}

// Overdue notes that Redis has not answered for long, and why is not known yet.
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

// Again is the beginning of telling after an end.
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
