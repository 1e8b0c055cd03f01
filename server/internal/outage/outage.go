// Package outage notices that the store does not answer.
package outage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// Watch bounds the requests that need the store. The Client retries for a while, as a
// program wants it, and requests would pile up behind that. So while a request takes long,
// Watch probes the store once a second. If the store does not answer, all waiting requests
// fail at once, and new ones too, until it answers.
type Watch struct {
	ping func(context.Context) error // one round trip
	over <-chan struct{}

	mu      sync.Mutex // protects the rest
	why     error      // nil: as far as known it answers
	pending map[*pending]struct{}
	probing bool
	ready   readiness
	asking  chan struct{} // closed when Ready's probe is answered; nil: there is none
}

// readiness is the answer to a probe.
type readiness struct {
	why  error
	trip time.Duration
	at   time.Time // when it came; zero: there was none
}

type pending struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

const (
	slow      = 500 * time.Millisecond // a request that takes longer gives rise to doubt
	probeTime = 2 * time.Second
	interval  = time.Second // between two probes
)

// New makes a Watch that probes until over is closed.
func New(ping func(context.Context) error, over <-chan struct{}) *Watch {
	return &Watch{ping: ping, over: over, pending: make(map[*pending]struct{})}
}

// Do calls f with a context that ends if the store does not answer. Then it returns that
// as a problem, and not the error of f.
func (o *Watch) Do(parent context.Context, f func(context.Context) error) error {
	o.mu.Lock()
	if o.why != nil {
		defer o.mu.Unlock()
		return o.why
	}
	p := &pending{timer: time.AfterFunc(slow, o.probeUntilUp)}
	var ctx context.Context
	ctx, p.cancel = context.WithCancelCause(parent)
	o.pending[p] = struct{}{}
	o.mu.Unlock()
	defer func() {
		p.timer.Stop()
		p.cancel(nil)
		o.mu.Lock()
		delete(o.pending, p)
		o.mu.Unlock()
	}()
	return reply.Because(ctx, f(ctx))
}

// probeUntilUp asks the store, again and again while it does not answer or a request waits.
func (o *Watch) probeUntilUp() {
	o.mu.Lock()
	if o.probing {
		o.mu.Unlock()
		return
	}
	o.probing = true
	o.mu.Unlock()
	go func() {
		for {
			why := o.Probe(context.Background())
			o.mu.Lock()
			o.why = why
			if why != nil {
				for p := range o.pending {
					p.cancel(why)
				}
			} else if len(o.pending) == 0 {
				o.probing = false
				o.mu.Unlock()
				return
			}
			o.mu.Unlock()
			select {
			case <-time.After(interval):
			case <-o.over:
				return
			}
		}
	}()
}

// Probe makes one round trip, and returns a problem if the store does not answer.
func (o *Watch) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	err := o.ping(ctx)
	said, refused := errors.AsType[driver.ServerError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, holdfast.ErrClosed):
		return reply.ProblemOf(err)
	case refused:
		for _, state := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN"} {
			if strings.HasPrefix(string(said), state) {
				return reply.NewProblem("unavailable", "%s", said)
			}
		}
		return nil // it answers; other requests get what it refuses
	case ctx.Err() != nil:
		return reply.NewProblem("unavailable", "Redis did not answer within %v", probeTime)
	}
	return reply.NewProblem("unavailable", "%s", strings.TrimPrefix(err.Error(), "holdfast: "))
}

// Ready returns a problem if the store does not answer, otherwise how long a round trip took. All
// callers share one probe a second, so that many of them do not load Redis. While a probe runs, the
// answer before it counts for probeTime more, so that callers do not pile up while a store hangs.
func (o *Watch) Ready(ctx context.Context) (trip time.Duration, why error) {
	o.mu.Lock()
	if o.why != nil {
		defer o.mu.Unlock()
		return 0, o.why
	}
	age := time.Since(o.ready.at)
	if age >= interval && o.asking == nil {
		o.asking = make(chan struct{})
		go o.askReady(o.asking)
	}
	asking := o.asking
	if age < interval+probeTime {
		defer o.mu.Unlock()
		return o.ready.trip, o.ready.why
	}
	o.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ready.trip, o.ready.why
}

// askReady probes for all callers of Ready, so no single one ends it.
func (o *Watch) askReady(answered chan struct{}) {
	began := time.Now()
	v := readiness{why: o.Probe(context.Background())}
	v.at = time.Now()
	if v.why == nil {
		v.trip = v.at.Sub(began)
	}
	o.mu.Lock()
	o.ready, o.asking = v, nil
	o.mu.Unlock()
	close(answered)
}
