package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// outage notices that the store does not answer. The Client goes on trying for a
// while, as a program wants it; requests would pile up behind that. So while any takes long the store is asked
// once a second, and when it does not answer all that wait for it are told so at
// once, and those that come, until it does.
type outage struct {
	client *holdfast.Client
	over   <-chan struct{}

	mu      sync.Mutex // guards the rest
	why     *problem   // nil: as far as known it answers
	pending map[*pending]struct{}
	probing bool
}

type pending struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

const (
	slow      = 500 * time.Millisecond // a request that takes longer gives rise to doubt
	probeTime = 2 * time.Second
	probeName = "holdfast-readyz"
)

func newOutage(client *holdfast.Client, over <-chan struct{}) *outage {
	return &outage{client: client, over: over, pending: make(map[*pending]struct{})}
}

// enter begins what needs the store: its context ends when that does not answer. The caller calls leave.
func (o *outage) enter(parent context.Context) (ctx context.Context, leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.why != nil {
		return nil, nil, o.why
	}
	p := &pending{}
	ctx, p.cancel = context.WithCancelCause(parent)
	p.timer = time.AfterFunc(slow, o.doubt)
	o.pending[p] = struct{}{}
	return ctx, func() {
		p.timer.Stop()
		p.cancel(nil)
		o.mu.Lock()
		delete(o.pending, p)
		o.mu.Unlock()
	}, nil
}

// because is the outage that ended ctx, if that was it, and not err that followed from it.
func because(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*problem](context.Cause(ctx)); ok && err != nil {
		return p
	}
	return err
}

// doubt asks the store, again and again while it does not answer or somebody waits.
func (o *outage) doubt() {
	o.mu.Lock()
	if o.probing {
		o.mu.Unlock()
		return
	}
	o.probing = true
	o.mu.Unlock()
	go func() {
		for {
			why := o.probe(context.Background())
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
			case <-time.After(time.Second):
			case <-o.over:
				return
			}
		}
	}()
}

// probe makes one round trip.
func (o *outage) probe(ctx context.Context) *problem {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, err := o.client.Inspect(ctx, probeName)
	said, refused := errors.AsType[driver.ServerError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, holdfast.ErrClosed):
		return problemOf(err)
	case refused:
		for _, state := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN"} {
			if strings.HasPrefix(string(said), state) {
				return unavailable(string(said))
			}
		}
		return nil // it answers; what it refuses others are told
	case ctx.Err() != nil:
		return unavailable(fmt.Sprintf("Redis did not answer within %v", probeTime))
	}
	return unavailable(strings.TrimPrefix(err.Error(), "holdfast: "))
}

// known is the outage that is known of, without asking.
func (o *outage) known() *problem {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.why
}
