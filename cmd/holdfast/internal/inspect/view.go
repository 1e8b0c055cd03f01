// Package inspect reads the state of names and puts it into words, for several commands. It does
// the same for entries of the journal.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
)

// heldWait bounds what is asked of the journal about holders.
const heldWait = 500 * time.Millisecond

// View is what is shown of a name: its state, and what other keys store of it.
type View struct {
	*admin.State
	Reasons []diagnose.Diagnosis
	Refused error         // why the state could not be read
	last    *holdfast.Run // of Once; nil: nothing is remembered, or it was not asked for
}

// newView is the view of a state. It leaves out what the server does not let us read.
func newView(a *cli.App, state *admin.State, reasons []diagnose.Diagnosis) *View {
	if state.Unreadable != nil {
		a.Detail("unknown whether %s is an election: %s", state.Name, cli.Why(state.Unreadable))
	}
	return &View{State: state, Reasons: reasons}
}

// At reads a name, and its last run.
func At(ctx context.Context, a *cli.App, client *connect.Session, name string) (*View, error) {
	around, err := client.Admin.Around(ctx, name)
	if err != nil {
		return nil, err
	}
	state := around.Names[0].State
	v := newView(a, state, diagnose.Around(around, client.Usual.Known()))
	if v.last, err = client.LastRun(ctx, name); err != nil && !errors.Is(err, holdfast.ErrNeverRan) {
		a.Detail("last run of %s unknown: %s", name, cli.Why(err))
	}
	addHeld(ctx, a, client, state)
	return v, nil
}

// addHeld adds how long the holders of a semaphore or reader-writer lock have held, by the
// journal: Redis does not store it. It is the last to change the state, because a diagnosis
// goes by what Redis stores.
func addHeld(ctx context.Context, a *cli.App, client *connect.Session, state *admin.State) {
	if state.Kind == holdfast.KindMutex || len(state.Holders) == 0 || state.Holding > len(state.Holders) {
		return
	}
	owners := make([]string, len(state.Holders))
	for i := range owners {
		owners[i] = state.Holders[i].Owner
	}
	ctx, cancel := context.WithTimeout(ctx, heldWait)
	defer cancel()
	since := journal.HeldSince(journal.Read(ctx, client.Store, journal.Query{KeyPrefix: a.Prefix, Name: state.Name, Newest: true}), owners)
	for i := range state.Holders {
		if at, known := since[owners[i]]; known {
			state.Holders[i].Held = max(0, state.At.Sub(at))
		}
	}
}

// Holders names the holders in one cell.
func (v *View) Holders() string {
	if v.Term > 0 {
		return HolderName(v.Holder) + " (leads)"
	}
	return holdersText(v.State)
}

// JSON is a name as ls and show print it with -o json.
func (v *View) JSON() *view.State {
	out := view.NewState(v.State, v.Reasons)
	out.LastRun = view.NewRun(v.last)
	return out
}

// All reads all names with prefix. It returns them sorted, and the reasons why some of
// them cannot be shown.
func All(ctx context.Context, a *cli.App, client *connect.Session, prefix string) (states []*View, refused []error, err error) {
	survey, err := client.Admin.Survey(ctx, prefix, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range diagnose.Survey(survey, client.Known).Names {
		v := newView(a, n.State, n.Reasons)
		if v.Refused = n.Err; n.Err != nil {
			refused = append(refused, n.Err)
		}
		states = append(states, v)
	}
	return states, refused, nil
}

// LeftOut says how many names were refused, and of the first the reason.
func LeftOut(refused []error) error {
	switch len(refused) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 name is left out: %w", withoutPrefix{refused[0]})
	}
	return fmt.Errorf("%d names are left out; the first: %w", len(refused), withoutPrefix{refused[0]})
}

// OnReplica is doctor.HidesWaiters of some states, as an error with an exit code.
func OnReplica(ctx context.Context, client *connect.Session, states ...*View) error {
	survey := &admin.Survey{}
	for _, v := range states {
		if v.State != nil {
			survey.Names = append(survey.Names, admin.Surveyed{State: v.State})
		}
	}
	if err := client.HidesWaiters(ctx, survey); err != nil {
		return cli.Exit(cli.ExitUnreachable, err)
	}
	return nil
}

// withoutPrefix is an error of the library without its name in front.
type withoutPrefix struct{ error }

func (b withoutPrefix) Error() string { return strings.TrimPrefix(b.error.Error(), "holdfast: ") }

func (b withoutPrefix) Unwrap() error { return b.error }

// Problem is the codes that need attention, or nothing.
func (v *View) Problem() string {
	var codes []string
	for _, d := range v.Reasons {
		if d.Code.Problem() {
			codes = append(codes, string(d.Code))
		}
	}
	return strings.Join(codes, " ")
}
