// Package take locks a name as the flags of run, elect and acquire say, and reports the wait,
// outages and events. It also notes jobs in the journal.
package take

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
)

// inspectTimeout bounds a request that only serves a better message.
const inspectTimeout = time.Second

// Open is connect.Open for a command that takes a name. While there is no connection for a
// reason that may pass, it goes on trying, as long as Acquire does. That time is part of --wait.
func Open(ctx context.Context, a *cli.App, o *Options, n *Narrator, options holdfast.Options, with ...connect.Beside) (*connect.Session, error) {
	began := time.Now()
	n.Outage.patience = min(max(o.TTL, minPatience), maxPatience)
	switch {
	case o.Endless:
		n.Outage.patience = 0
	case o.Wait > 0:
		n.Outage.patience = o.Wait
	}
	again := &connect.Again{For: n.Outage.patience, Endless: o.Endless, Failed: n.Outage.unconnected}
	if o.NoWait {
		again = nil
	}
	client, err := connect.OpenAgain(ctx, a, again, options, append(with, n.Outage.watch(a))...)
	if err != nil {
		return nil, err
	}
	n.Outage.answered()
	if o.Wait > 0 {
		o.Wait = max(o.Wait-time.Since(began), time.Millisecond)
	}
	return client, nil
}

// What the library does while Redis does not answer: it goes on for a ttl, within these.
const (
	minPatience = time.Second
	maxPatience = 15 * time.Second
)

// Acquire takes name as the flags say, and shows the holder during the wait. Its error
// carries the exit code where the library does not know it.
func Acquire(ctx context.Context, a *cli.App, client *connect.Session, name string, o Options, outage *Outage) (*holdfast.Lease, error) {
	taker := o.taker(client, name)
	if o.Steal.Tenure != "" {
		lease, err := steal(ctx, a, client, name, o)
		return lease, WithFlags(err)
	}
	began := time.Now()
	var lease *holdfast.Lease
	var err error
	if o.NoWait {
		lease, err = taker.try(ctx)
	} else {
		lease, err = wait(ctx, a, client, taker, o.Wait, outage)
	}
	if errors.Is(err, holdfast.ErrHeld) || errors.Is(err, context.DeadlineExceeded) {
		return nil, busyError(a, client, name, err, time.Since(began), o.BusyCode)
	}
	return lease, WithFlags(err)
}

// wait waits in the queue, for at most limit if that is not 0. With a limit, an outage does not
// end the wait sooner.
func wait(ctx context.Context, a *cli.App, client *connect.Session, taker taker, limit time.Duration, outage *Outage) (*holdfast.Lease, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer ShowWait(ctx, a, client, taker.name, outage)()
	for {
		lease, err := taker.lock(ctx)
		if limit == 0 || !errors.Is(err, holdfast.ErrUnreachable) || !cli.Sleep(ctx, time.Second) {
			return lease, err
		}
	}
}

// busyError names the holder of name, and how long we waited. Its code is the given one,
// unless Redis does not answer, or refuses and shows no holder: then the name is not busy.
func busyError(a *cli.App, client *connect.Session, name string, err error, waited time.Duration, code int) error {
	ctx, cancel := context.WithTimeout(context.Background(), inspectTimeout)
	defer cancel()
	a.Busy = true
	text, by := "held by another", "" // for people, and for the journal
	late := errors.Is(err, context.DeadlineExceeded)
	held, isHeld := errors.AsType[*holdfast.HeldError](err)
	switch {
	case isHeld:
		by = "held by " + cmp.Or(held.Owner, "(not holdfast)")
	case late:
		by = "waited too long"
	}
	state, lookErr := client.Admin.Inspect(ctx, name)
	if errors.Is(lookErr, holdfast.ErrUnreachable) && late {
		a.Busy = false
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("no answer from %s: %s; gave up after %s", cli.PublicURL(a.RedisURL), cli.Why(lookErr), console.Age(waited)))
	}
	if errors.Is(err, holdfast.ErrUnreachable) && (lookErr != nil || state.Holder == nil) {
		a.Busy = false
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s; gave up after %s", a.Explain(err), console.Age(waited)))
	}
	if lookErr == nil && state.Holder != nil {
		var known *diagnose.Options // a try does not ask: many may come at a time
		if late {
			known = client.Usual.Known()
		}
		text = inspect.HolderText(state, false, known) + inspect.WaitersText(state)
	} else if isHeld && held.Owner != "" { // gone meanwhile
		text = "held by " + held.Owner
	}
	if late {
		text += "; gave up after " + console.Age(waited)
	}
	if code == 0 { // to skip is fine, so this is no error
		a.Say("%s is %s", name, text)
		return HeldBy(cli.Exit(0, nil), by)
	}
	return HeldBy(cli.Exit(code, fmt.Errorf("%s is %s", name, text)), by)
}

// taker takes a name as one kind of lock.
type taker struct {
	name      string
	lock, try func(context.Context) (*holdfast.Lease, error)
}

// WithFlags says of a name that is another kind of lock which flags fit it, and how to
// get more permits than there are.
func WithFlags(err error) error {
	if errors.Is(err, holdfast.ErrSize) {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("%w: 'holdfast resize' changes that", err))
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
	return cli.Exit(cli.ExitUsage, fmt.Errorf("%w: %s", err, hint))
}

// steal takes name from the holder that --steal means.
func steal(ctx context.Context, a *cli.App, client *connect.Session, name string, o Options) (*holdfast.Lease, error) {
	m := client.Mutex(name)
	m.MinHold = o.MinHold
	lease, err := m.Steal(ctx, o.Steal.Tenure, o.Steal.Signed(a.Owner))
	if err == nil {
		a.Detail("took %s from tenure %s", view.Text(name), o.Steal.Tenure)
	}
	return lease, err
}
