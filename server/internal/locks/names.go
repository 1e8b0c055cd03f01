// Package locks serves the requests of operators: list, show, revoke and steal.
package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/internal/memo"
	"github.com/holdfast-go/holdfast/server/internal/outage"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// Names are the names of a store, as the server sees them.
type Names struct {
	Admin   *admin.Admin
	client  *holdfast.Client
	store   *outage.Watch
	known   *diagnose.Options
	logger  *slog.Logger
	surveys memo.Memo[*diagnose.Report]
}

// New makes Names.
func New(client *holdfast.Client, store *outage.Watch, known *diagnose.Options, logger *slog.Logger) *Names {
	return &Names{Admin: admin.Of(client), client: client, store: store, known: known, logger: logger}
}

// Holder returns the holder of a name; nil means that no process holds it.
func (n *Names) Holder(ctx context.Context, name string) (*admin.Holder, error) {
	state, err := n.Admin.Inspect(ctx, name)
	if err != nil || state.Holder == nil || state.Holder.Cooldown {
		return nil, err
	}
	return state.Holder, nil
}

// inspect reads a name, and what is remembered of Once, which is left out where the store
// does not let us see it.
func (n *Names) inspect(ctx context.Context, name string) (*view.State, error) {
	around, err := n.Admin.Around(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := doctor.HidesWaiters(ctx, n.Admin, around); err != nil {
		return nil, reply.NewProblem("unavailable", "%v", err)
	}
	out := view.NewState(around.Names[0].State, diagnose.Around(around, n.known))
	run, err := n.client.LastRun(ctx, name)
	if err != nil && !errors.Is(err, holdfast.ErrNeverRan) && ctx.Err() != nil {
		return nil, err
	} else if err == nil {
		out.LastRun = view.NewRun(run)
	}
	return out, nil
}

// Held is the problem of a name that another holds, with the holder if it can be read.
func (n *Names) Held(ctx context.Context, name string) error {
	p := reply.NewProblem("held", "%s is held", name).With("name", name)
	_ = n.store.Do(ctx, func(ctx context.Context) error {
		s, err := n.Admin.Inspect(ctx, name)
		if err != nil {
			return err
		}
		state := view.NewState(s, diagnose.State(s, n.known))
		if h := state.Holder; h != nil {
			is := "held by"
			if h.Cooldown {
				is = "in cool-down after"
			}
			p.Detail = fmt.Sprintf("%s is %s %s", name, is, cmp.Or(h.Owner, "another"))
			if h.RemainingMS != nil { // a holder that lives renews long before
				p.RetryAfter = int(min(max(math.Ceil((time.Duration(*h.RemainingMS)*time.Millisecond).Seconds()), 1), 10))
			}
		}
		if state.Waiting > 0 {
			p.Detail += fmt.Sprintf(", %d waiting", state.Waiting)
		}
		_ = p.With("holder", state.Holder).With("waiting", state.Waiting).With("reasons", state.Reasons)
		return nil
	}) // without the store the name is all that is known
	return p
}
