package server

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
)

// look looks at a name; back: also at what is remembered of Once, which is left out where the store does
// not let us see it.
func (a *API) look(ctx context.Context, name string, back bool) (*view.State, error) {
	state, err := a.client.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	out := view.NewState(state, state.Diagnose(nil))
	if back {
		run, err := a.client.LastRun(ctx, name)
		if err == nil {
			out.LastRun = view.NewRun(run)
		} else if !errors.Is(err, holdfast.ErrNeverRan) && ctx.Err() != nil {
			return nil, err
		}
	}
	return out, nil
}
