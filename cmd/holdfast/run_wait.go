package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
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

// holderText is "held by ci-7 (alice, pid 4121) for 3m12s, renews on time", "held by
// ci-7 and 1 more (3 of 3 permits), renews on time", or "in cool-down after ci-7 for
// 12m more". In brief it leaves out what is as it should be.
func holderText(state *holdfast.State, brief bool, known *holdfast.DiagnoseOptions) string {
	h := state.Holder
	if h.Cooldown {
		return "in cool-down after " + visible(h.Owner) + " for " + age(h.Remaining) + " more"
	}
	text := "held by " + holdersText(state)
	if !brief && state.Kind == holdfast.KindMutex && !h.Foreign && h.Owner != "" {
		text = "held by " + visible(h.Describe())
	}
	if h.Held > 0 {
		text += " for " + age(h.Held)
	}
	return text + renewsText(state, brief, known)
}

// renewsText says in few words how the holder does.
func renewsText(state *holdfast.State, brief bool, known *holdfast.DiagnoseOptions) (text string) {
	words := map[holdfast.Code]string{
		holdfast.CodeNoTTL: "without expiry", holdfast.CodeExpiring: "does not renew any more",
		holdfast.CodeRenewalsLate: "renews late", holdfast.CodeHeldLong: "longer than usual",
		holdfast.CodeRevoking: "is asked to stop", holdfast.CodeHeldHealthy: "renews on time",
	}
	for _, d := range state.Diagnose(known) {
		switch word := words[d.Code]; {
		case state.Holder.Exported && d.Code == holdfast.CodeHeldHealthy:
			text += ", lasts " + age(state.Holder.Remaining) + " more unless renewed by hand"
		case word != "" && (!brief || d.Code != holdfast.CodeHeldHealthy):
			text += ", " + word
		}
	}
	return text
}

// waitersText is "; 2 waiters in the queue", or nothing if the queue is empty.
func waitersText(state *holdfast.State) string {
	if state.Waiting == 0 {
		return ""
	}
	return "; " + several(state.Waiting, "waiter") + " in the queue"
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}
