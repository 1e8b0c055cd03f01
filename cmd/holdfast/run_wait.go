package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
)

// inspectTimeout bounds a request that only serves a better message.
const inspectTimeout = time.Second

// acquire takes name as the flags say, and shows the holder during the wait. Its error
// carries the exit code where the library does not know it.
func (a *app) acquire(ctx context.Context, client *session, name string, o runOptions, outage *outage) (*holdfast.Lease, error) {
	taker := o.taker(client, name)
	if o.steal.tenure != "" {
		lease, err := a.steal(ctx, client, name, o)
		return lease, withFlags(err)
	}
	began := time.Now()
	var lease *holdfast.Lease
	var err error
	if o.noWait {
		lease, err = taker.try(ctx)
	} else {
		lease, err = a.wait(ctx, client, taker, o.wait, outage)
	}
	if errors.Is(err, holdfast.ErrHeld) || errors.Is(err, context.DeadlineExceeded) {
		return nil, busy(a.busyError(client, name, err, time.Since(began), o.busyCode), err, o.busyCode)
	}
	return lease, withFlags(err)
}

// wait waits in the queue, for at most limit if that is not 0.
func (a *app) wait(ctx context.Context, client *session, taker taker, limit time.Duration, outage *outage) (*holdfast.Lease, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if !a.quiet {
		defer a.showWait(ctx, client, taker.name, outage)()
	}
	return taker.lock(ctx)
}

// busyError names the holder of name, and how long we waited. Its code is the given one,
// unless Redis does not answer, or refuses and shows no holder: then the name is not busy.
func (a *app) busyError(client *session, name string, err error, waited time.Duration, code int) error {
	ctx, cancel := context.WithTimeout(context.Background(), inspectTimeout)
	defer cancel()
	a.busy = true
	text := "held by another"
	var held *holdfast.HeldError
	state, lookErr := client.Inspect(ctx, name)
	if errors.Is(lookErr, holdfast.ErrUnreachable) && errors.Is(err, context.DeadlineExceeded) {
		a.busy = false
		return exitWith(exitUnreachable, fmt.Errorf("no answer from %s: %s; gave up after %s", publicURL(a.redisURL), why(lookErr), age(waited)))
	}
	if errors.Is(err, holdfast.ErrUnreachable) && (lookErr != nil || state.Holder == nil) {
		a.busy = false
		return exitWith(exitUnreachable, fmt.Errorf("%s; gave up after %s", a.explain(err), age(waited)))
	}
	if lookErr == nil && state.Holder != nil {
		var known *holdfast.DiagnoseOptions // a try does not ask: many may come at a time
		if errors.Is(err, context.DeadlineExceeded) {
			known = client.usual.about(state)
		}
		text = holderText(state, false, known) + waitersText(state)
	} else if errors.As(err, &held) && held.Owner != "" { // gone meanwhile
		text = "held by " + held.Owner
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text += "; gave up after " + age(waited)
	}
	if code == 0 { // to skip is fine, so this is no error
		a.say("%s is %s", name, text)
		return exitWith(0, nil)
	}
	return exitWith(code, fmt.Errorf("%s is %s", name, text))
}

// taker takes a name as one kind of lock.
type taker struct {
	name      string
	lock, try func(context.Context) (*holdfast.Lease, error)
}

// withFlags says of a name that is another kind of lock which flags fit it, and how to
// get more permits than there are.
func withFlags(err error) error {
	if errors.Is(err, holdfast.ErrSize) {
		return exitWith(exitUsage, fmt.Errorf("%w: 'holdfast resize' changes that", err))
	}
	var other *holdfast.KindError
	if !errors.As(err, &other) {
		return err
	}
	var hint string
	switch other.Actual {
	case holdfast.KindRWMutex:
		hint = "use --shared or --exclusive"
	case holdfast.KindMutex:
		hint = "leave out --shared, --exclusive and --of"
	case holdfast.KindSemaphore:
		hint = "use --of SIZE"
	}
	return exitWith(exitUsage, fmt.Errorf("%w: %s", err, hint))
}

// steal takes name from the holder that --steal means.
func (a *app) steal(ctx context.Context, client *session, name string, o runOptions) (*holdfast.Lease, error) {
	m := client.Mutex(name)
	m.MinHold = o.minHold
	lease, err := m.Steal(ctx, o.steal.tenure, o.steal.signed(a.owner))
	if err == nil {
		a.detail("took %s from tenure %s", view.Text(name), o.steal.tenure)
	}
	return lease, err
}
