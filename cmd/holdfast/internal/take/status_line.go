package take

import (
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
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/look"
)

// settling is how long a wait lasts before it is worth a word.
const settling = 200 * time.Millisecond

// ShowWait says on stderr that we wait: our place in the queue and the holder. On a
// terminal that is one line, updated each second and removed at the end. Elsewhere it is
// one line at the start. The function that it returns ends that.
func ShowWait(ctx context.Context, a *cli.App, client *connect.Session, name string, outage *Outage) (stop func()) {
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
	text := fmt.Sprintf("%s is %s", name, look.HolderText(state, brief, known))
	before := connect.WaitersBefore(state)
	if before < 0 {
		return text + look.WaitersText(state)
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
