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
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
)

const (
	settling      = 200 * time.Millisecond // how long a wait lasts before it is reported
	circlesAtMost = time.Minute            // between two looks for a deadlock
)

// ShowWait says on stderr that we wait: our place in the queue and the holder. On a
// terminal that is one line, updated each second and removed at the end. Elsewhere it is
// one line at the start. In a nested command it also says that the wait is part of a deadlock.
// The function that it returns ends that.
func ShowWait(ctx context.Context, a *cli.App, client *connect.Session, name string, outage *Outage) (stop func()) {
	if a.Quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	screen := console.ScreenOf(a.Stderr)
	w := &waiting{
		a: a, client: client, name: name, outage: outage, screen: screen, began: time.Now(),
		live:   screen.Terminal && os.Getenv("TERM") != "dumb" && a.LogFormat != "json",
		nested: holdfast.ProcessDetails().Parent != "",
	}
	var showing sync.WaitGroup
	showing.Go(func() { w.show(ctx) })
	return func() {
		cancel()
		showing.Wait()
		a.Console.Clear()
	}
}

// waiting is a wait that is shown to people.
type waiting struct {
	a      *cli.App
	client *connect.Session
	name   string
	outage *Outage
	screen console.Screen
	began  time.Time
	live   bool // the line is updated
	nested bool // we are the command of another holdfast

	said   bool      // the line was printed, where it is not updated
	looked time.Time // when we last looked for a deadlock
	circle string    // the deadlock that was reported
}

func (w *waiting) show(ctx context.Context) {
	for pause := settling; cli.Sleep(ctx, pause); pause = w.pause() {
		state, err := waitState(ctx, w.client, w.name)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, holdfast.ErrUnreachable):
			w.outage.Failed(err, 0)
		case err == nil:
			w.outage.read()
		}
		if state == nil {
			continue
		}
		w.line(state)
		w.deadlock(ctx)
		if !w.live && !w.nested {
			return
		}
	}
}

func (w *waiting) pause() time.Duration {
	if w.live || !w.said {
		return time.Second
	}
	return w.between()
}

// between is the time between two looks for a deadlock, which cost a few inspections.
func (w *waiting) between() time.Duration {
	return min(max(time.Since(w.began)/4, time.Second), circlesAtMost)
}

func (w *waiting) line(state *admin.State) {
	known := w.client.Usual.Known()
	switch {
	case w.live:
		expected := w.client.Usual.Expected(state)
		text := "waiting: " + waitText(w.name, state, false, known, expected)
		if ansi.StringWidth("holdfast: "+text) >= w.screen.Width {
			text = "waiting: " + waitText(w.name, state, true, known, expected)
		}
		w.a.Console.Show(w.screen.Width, text)
	case !w.said:
		w.a.Say("waiting: %s", waitText(w.name, state, false, known, 0))
		w.said = true
	}
}

// deadlock says that a nested command waits in a circle, once for each circle. Only a nested
// command looks, since a command that is not nested holds nothing while it waits.
func (w *waiting) deadlock(ctx context.Context) {
	if !w.nested || w.live && time.Since(w.looked) < w.between() {
		return
	}
	w.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	around, err := w.client.Admin.Around(ctx, w.name)
	if err != nil {
		return
	}
	for _, d := range diagnose.Around(around, nil) {
		if d.Code == diagnose.PossibleDeadlock && d.Sentence != w.circle {
			w.circle = d.Sentence
			w.a.Say("deadlock: %s: %s", d.Sentence, d.Action)
		}
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
