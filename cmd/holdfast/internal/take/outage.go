package take

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/driver"
)

// blip is how long an outage lasts before it is reported.
const blip = time.Second

// Outage reports once that Redis does not answer, or refuses, and once that this is over.
type Outage struct {
	say      func(format string, args ...any)
	advise   func(error) string // what to do about a refusal; nil: nothing is known
	patience time.Duration      // how long a wait goes on without an answer; 0: without end

	mu    sync.Mutex // protects the rest
	since time.Time  // of the first failure since the last answer; zero: none
	what  trouble    // the newest
	until time.Time  // when a lease is lost, unless Redis answers; zero: none is held
	said  bool
	over  bool
	timer *time.Timer
}

// trouble describes an outage, and its end.
type trouble struct {
	text, over string
	refusal    error // of the server; nil: it does not answer
}

func troubleOf(err error) trouble {
	said, refused := errors.AsType[driver.ServerError](err)
	switch {
	case errors.Is(err, holdfast.ErrReplicas):
		return trouble{text: fmt.Sprintf("replicas do not answer (%s)", cli.Why(err)), over: "replicas answer"}
	case refused:
		return trouble{text: fmt.Sprintf("Redis refuses (%s)", cli.Why(said)), over: "Redis answers", refusal: err}
	}
	return trouble{text: fmt.Sprintf("Redis does not answer (%s)", cli.Why(err)), over: "Redis answers"}
}

// Failed notes that Redis did not answer, or answered with an error. If left is not 0, the
// lease is lost after left.
func (o *Outage) Failed(err error, left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.what = troubleOf(err)
	o.begin(left)
}

// Overdue notes that Redis has not answered for long, for an unknown reason.
func (o *Outage) Overdue(left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.what = trouble{text: "Redis does not answer (no answer in time)", over: "Redis answers"}
	}
	o.begin(left)
}

// unconnected notes that there is no connection yet. The error says all of it.
func (o *Outage) unconnected(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.what = trouble{text: err.Error(), over: "Redis answers"}
	o.begin(0)
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
	refusal := o.what.refusal
	o.mu.Unlock()
	hint := ""
	if refusal != nil && o.advise != nil {
		hint = o.advise(refusal) // it may ask Redis
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || o.said || o.over {
		return
	}
	o.said = true
	text := o.what.text
	if hint != "" && o.what.refusal != nil {
		text += ": " + hint
	}
	switch left, rest := time.Until(o.until), o.patience-time.Since(o.since); {
	case left > 0:
		o.say("%s; still trying, for %s more before the lease is lost", text, console.Age(left))
	case rest > 0:
		o.say("%s; still trying, for %s more", text, console.Age(rest))
	default:
		o.say("%s; still trying", text)
	}
}

// answered notes that Redis is there.
func (o *Outage) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said && !o.over {
		o.say("%s again, after %s", o.what.over, console.Age(time.Since(o.since)))
	}
	o.forget()
}

// read notes that Redis has answered a script that only reads. A replica answers these too.
func (o *Outage) read() {
	o.mu.Lock()
	refuses := o.what.refusal != nil
	o.mu.Unlock()
	if !refuses {
		o.answered()
	}
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
	o.since, o.until, o.said, o.what = time.Time{}, time.Time{}, false, trouble{}
}

// watch observes the store of a Client. If Redis refuses a script for a reason that may pass, the
// Client repeats it, and no event reports that.
func (o *Outage) watch(a *cli.App) connect.Beside {
	return func(s *connect.Session, _ *holdfast.Options) (after func()) {
		store := s.Store
		o.advise = func(err error) string {
			return a.Fix(err, func(err error) string { return doctor.Advise(context.Background(), store, err) })
		}
		s.Store = &watched{store, o}
		return func() {}
	}
}

// watched is a store that notes how scripts that lock are answered.
type watched struct {
	driver.Store
	outage *Outage
}

// takes are the scripts that lock.
var takes = map[string]bool{"lock": true, "lock_batch": true, "shared_lock": true, "once_lock": true, "once_begin": true, "take": true}

func (w *watched) note(script *driver.Script, err error) {
	_, refused := errors.AsType[driver.ServerError](err)
	switch {
	case !takes[script.Name]:
	case err == nil:
		w.outage.answered()
	case refused: // the Client knows whether another error matters
		w.outage.Failed(err, 0)
	}
}

// Eval is that of the store.
func (w *watched) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	reply, err := w.Store.Eval(ctx, call)
	w.note(call.Script, err)
	return reply, err
}

// EvalAll is that of the store.
func (w *watched) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := w.Store.EvalAll(ctx, calls)
	for i, r := range results {
		w.note(calls[i].Script, r.Err)
	}
	return results
}

// EvalWait is that of the store.
func (w *watched) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	results, acked, err := w.Store.EvalWait(ctx, calls, replicas, timeout)
	for i, r := range results {
		w.note(calls[i].Script, r.Err)
	}
	return results, acked, err
}

// SendsOnce is that of the store.
func (w *watched) SendsOnce() bool {
	s, ok := w.Store.(driver.SendsOnce)
	return ok && s.SendsOnce()
}
