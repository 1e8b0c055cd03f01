package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
)

// View is what is shown of a name: its state, and what other keys store of it.
type View struct {
	*holdfast.State
	reasons []holdfast.Diagnosis
	last    *holdfast.Run // of Once; nil: nothing is remembered, or it was not asked for
}

// newView is the view of a state. It leaves out what the server does not let us read.
func (a *app) newView(state *holdfast.State, reasons []holdfast.Diagnosis) *View {
	if state.Unreadable != nil {
		a.detail("unknown whether %s is an election: %s", state.Name, why(state.Unreadable))
	}
	return &View{State: state, reasons: reasons}
}

// look reads a name, and its last run.
func (a *app) look(ctx context.Context, client *session, name string) (*View, error) {
	state, err := client.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	v := a.newView(state, state.Diagnose(client.usual.about(state)))
	a.lookBack(ctx, client, v)
	return v, nil
}

// lookBack asks for what is remembered of Once.
func (a *app) lookBack(ctx context.Context, client *session, v *View) {
	last, err := client.LastRun(ctx, v.Name)
	switch {
	case err == nil:
		v.last = last
	case !errors.Is(err, holdfast.ErrNeverRan):
		a.detail("last run of %s unknown: %s", v.Name, why(err))
	}
}

// holders names the holders in one cell.
func (v *View) holders() string {
	if v.Term > 0 {
		return holderName(v.Holder) + " (leads)"
	}
	return holdersText(v.State)
}

// json is a name as ls and show print it with -o json; see jsonFieldsHelp.
func (v *View) json() *view.State {
	out := view.NewState(v.State, v.reasons)
	out.LastRun = view.NewRun(v.last)
	return out
}

// inspectAll reads all names with prefix. It returns them sorted, and the reasons why
// others cannot be shown.
func (a *app) inspectAll(ctx context.Context, client *session, prefix string) (states []*View, refused []error, err error) {
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

// problem is the codes that need attention, or nothing.
func (v *View) problem() string {
	var codes []string
	for _, d := range v.reasons {
		if d.Code.Problem() {
			codes = append(codes, string(d.Code))
		}
	}
	return strings.Join(codes, " ")
}
