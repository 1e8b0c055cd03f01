package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast"
)

// settling is how long a wait lasts before it is worth a word.
const settling = 200 * time.Millisecond

// showWait tells on stderr that we wait and for whom: on a terminal by one line
// that is kept up to date and taken away at the end, else by one line at the
// start. The function it returns ends that.
func (a *app) showWait(ctx context.Context, client *holdfast.Client, name string, outage *outage) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	screen := screenOf(a.stderr)
	live := screen.terminal && os.Getenv("TERM") != "dumb" && a.logFormat != "json"
	var showing sync.WaitGroup
	showing.Go(func() {
		for pause := settling; sleep(ctx, pause); pause = time.Second {
			state, err := waitState(ctx, client, name)
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, holdfast.ErrUnreachable):
				outage.failed(err, 0)
			case err == nil:
				outage.answered()
			}
			switch {
			case state == nil || ctx.Err() != nil:
			case !live:
				a.say("waiting: %s", waitText(name, state, false, a.usual.about(state)))
				return
			default:
				known := a.usual.about(state)
				text := "waiting: " + waitText(name, state, false, known)
				if utf8.RuneCountInString("holdfast: "+text) >= screen.width { // else our place would be cut off
					text = "waiting: " + waitText(name, state, true, known)
				}
				a.console.show(screen.width, text)
			}
		}
	})
	return func() {
		cancel()
		showing.Wait()
		a.console.clear()
	}
}

// waitText is "invoice:42 is held by ci-7 for 3m12s, renews on time; you are 2nd in
// line".
func waitText(name string, state *holdfast.State, brief bool, known *holdfast.DiagnoseOptions) string {
	return fmt.Sprintf("%s is %s%s", name, holderText(state, brief, known), lineText(state))
}

// waitState is the state of a name that another holds; nil: no other does.
func waitState(ctx context.Context, client *holdfast.Client, name string) (*holdfast.State, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	state, err := client.Inspect(ctx, name)
	if err != nil || state.Holder == nil || state.Holder.Own || slices.ContainsFunc(state.Holders, func(h holdfast.Holder) bool { return h.Own }) {
		return nil, err
	}
	return state, nil
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
