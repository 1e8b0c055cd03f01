package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

// settling is how long a wait lasts before it is worth a word.
const settling = 200 * time.Millisecond

// showWait tells on stderr that we wait and for whom: on a terminal by one line
// that is kept up to date and taken away at the end, else by one line at the
// start. The function it returns ends that.
func (a *app) showWait(ctx context.Context, client *holdfast.Client, name string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	live := screenOf(a.stderr).terminal && os.Getenv("TERM") != "dumb" && a.logFormat != "json"
	var showing sync.WaitGroup
	showing.Go(func() {
		for pause := settling; sleep(ctx, pause); pause = time.Second {
			text, ok := waitText(ctx, client, name)
			switch {
			case !ok:
			case !live:
				a.say("waiting: %s", text)
				return
			default:
				statusLine(screenOf(a.stderr), "holdfast: waiting: "+text)
			}
		}
	})
	return func() {
		cancel()
		showing.Wait()
		if live {
			statusLine(screenOf(a.stderr), "")
		}
	}
}

// waitText is "invoice:42 is held by ci-7 for 3m12s; 2nd in line".
func waitText(ctx context.Context, client *holdfast.Client, name string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	state, err := client.Inspect(ctx, name)
	if err != nil || state.Holder == nil || state.Holder.Own {
		return "", false
	}
	return fmt.Sprintf("%s is %s%s", name, holderText(state.Holder), lineText(state)), true
}

// statusLine puts text in the place of the line that the cursor is in.
func statusLine(s screen, text string) {
	if line := []rune(text); len(line) >= s.width {
		text = string(line[:max(s.width-1, 0)])
	}
	s.printf("\r\x1b[K%s", text)
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
