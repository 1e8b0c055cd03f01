// Package take locks a name as the flags of run, elect and acquire say, and reports the wait,
// outages and events. It also notes jobs in the journal.
package take

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
)

// inspectTimeout bounds a request that only serves a better message.
const inspectTimeout = time.Second

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

// wait waits in the queue, for at most limit if that is not 0.
func wait(ctx context.Context, a *cli.App, client *connect.Session, taker taker, limit time.Duration, outage *Outage) (*holdfast.Lease, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer ShowWait(ctx, a, client, taker.name, outage)()
	return taker.lock(ctx)
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
			known = client.Usual.About(state)
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

// settling is how long a wait lasts before it is reported.
const settling = 200 * time.Millisecond

// ShowWait says on stderr that we wait: our place in the queue and the holder. On a
// terminal that is one line, updated each second and removed at the end. Elsewhere it is
// one line at the start. The function that it returns ends that.
func ShowWait(ctx context.Context, a *cli.App, client *connect.Session, name string, outage *Outage) (stop func()) {
	if a.Quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	screen := console.ScreenOf(a.Stderr)
	live := screen.Terminal && os.Getenv("TERM") != "dumb" && a.LogFormat != "json"
	var showing sync.WaitGroup
	showing.Go(func() {
		for pause := settling; cli.Sleep(ctx, pause); pause = time.Second {
			state, err := waitState(ctx, client, name)
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, holdfast.ErrUnreachable):
				outage.Failed(err, 0)
			case err == nil:
				outage.answered()
			}
			switch {
			case state == nil || ctx.Err() != nil:
			case !live:
				a.Say("waiting: %s", waitText(name, state, false, client.Usual.About(state), 0))
				return
			default:
				known := client.Usual.About(state)
				expected := client.Usual.Expected(state)
				text := "waiting: " + waitText(name, state, false, known, expected)
				if ansi.StringWidth("holdfast: "+text) >= screen.Width {
					text = "waiting: " + waitText(name, state, true, known, expected)
				}
				a.Console.Show(screen.Width, text)
			}
		}
	})
	return func() {
		cancel()
		showing.Wait()
		a.Console.Clear()
	}
}

// waitText is "2nd in the queue, about 12m; invoice:42 is held by ci-7 for 3m12s, renews
// on time". The place comes first, so that a narrow terminal does not cut it off.
// expected is the time until our turn; 0: unknown.
func waitText(name string, state *admin.State, brief bool, known *diagnose.Options, expected time.Duration) string {
	text := fmt.Sprintf("%s is %s", name, inspect.HolderText(state, brief, known))
	before := connect.WaitersBefore(state)
	if before < 0 {
		return text + inspect.WaitersText(state)
	}
	place := console.Ordinal(before+1) + " in the queue"
	if expected > 0 {
		place += ", about " + roughly(expected)
	}
	return place + "; " + text
}

// roughly is a duration without digits that an estimate does not have.
func roughly(d time.Duration) string {
	switch {
	case d >= time.Hour:
		d = d.Round(10 * time.Minute)
	case d >= 10*time.Minute:
		d = d.Round(time.Minute)
	case d >= time.Minute:
		d = d.Round(10 * time.Second)
	default:
		d = max(time.Second, d.Round(time.Second))
	}
	return strings.Replace(console.Age(d), "m0s", "m", 1)
}

// waitState is the state of a name that another holds; nil: no other does.
func waitState(ctx context.Context, client *connect.Session, name string) (*admin.State, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	state, err := client.Admin.Inspect(ctx, name)
	if err != nil || state.Holder == nil || state.Holder.Own || slices.ContainsFunc(state.Holders, func(h admin.Holder) bool { return h.Own }) {
		return nil, err
	}
	return state, nil
}
