package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// view is what is shown of a name: its state, and what other keys store of it.
type view struct {
	*holdfast.State
	reasons []holdfast.Diagnosis
	term    int64         // of an election, its leader's; 0: it is none, or was not announced
	last    *holdfast.Run // of Once; nil: nothing is remembered, or it was not asked for
}

// newView is the view of a state. It leaves out what the server does not let us read.
func (a *app) newView(state *holdfast.State, reasons []holdfast.Diagnosis) *view {
	if state.Unreadable != nil {
		a.detail("unknown whether %s is an election: %s", state.Name, why(state.Unreadable))
	}
	return &view{State: state, reasons: reasons, term: state.Term}
}

// look reads a name, and its last run.
func (a *app) look(ctx context.Context, client *session, name string) (*view, error) {
	state, err := client.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	v := a.newView(state, state.Diagnose(client.usual.about(state)))
	a.lookBack(ctx, client, v)
	return v, nil
}

// lookBack asks for what is remembered of Once.
func (a *app) lookBack(ctx context.Context, client *session, v *view) {
	last, err := client.LastRun(ctx, v.Name)
	switch {
	case err == nil:
		v.last = last
	case !errors.Is(err, holdfast.ErrNeverRan):
		a.detail("last run of %s unknown: %s", v.Name, why(err))
	}
}

// kind is the library's, or an election that was announced.
func (v *view) kind() string {
	if v.term > 0 {
		return "election"
	}
	return string(v.Kind)
}

// holders names the holders in one cell.
func (v *view) holders() string {
	if v.term > 0 {
		return holderName(v.Holder) + " (leads)"
	}
	return holdersText(v.State)
}

// viewJSON is what stateJSON has more of elections and of Once; see jsonFieldsHelp.
type viewJSON struct {
	Term    int64    `json:"term,omitempty"`
	LastRun *runJSON `json:"last_run,omitempty"`
}

type runJSON struct {
	Owner   string     `json:"owner"`
	Token   int64      `json:"token"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended"`
	Outcome string     `json:"outcome"`
	Tick    *time.Time `json:"tick,omitempty"`
}

func newViewJSON(v *view) viewJSON {
	out := viewJSON{Term: v.term}
	if r := v.last; r != nil {
		out.LastRun = &runJSON{Owner: r.Owner, Token: r.Token, Began: r.Began.UTC(), Outcome: r.Outcome}
		if !r.Ended.IsZero() {
			out.LastRun.Ended = new(r.Ended.UTC())
		}
		if !r.Tick.IsZero() {
			out.LastRun.Tick = new(r.Tick.UTC())
		}
	}
	return out
}

// inspectAll reads all names with prefix. It returns them sorted, and the reasons why
// others cannot be shown.
func (a *app) inspectAll(ctx context.Context, client *session, prefix string) (states []*view, refused []error, err error) {
	survey, err := client.Survey(ctx, prefix)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range survey.Names {
		if n.Err != nil {
			refused = append(refused, n.Err)
		} else {
			states = append(states, a.newView(n.State, n.Reasons))
		}
	}
	return states, refused, nil
}

// leftOut says how many names were refused, and of the first the reason.
func leftOut(refused []error) error {
	switch len(refused) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 name is left out: %w", bare{refused[0]})
	}
	return fmt.Errorf("%d names are left out; the first: %w", len(refused), bare{refused[0]})
}

// bare is an error of the library without its name in front.
type bare struct{ error }

func (b bare) Error() string { return strings.TrimPrefix(b.error.Error(), "holdfast: ") }

func (b bare) Unwrap() error { return b.error }
