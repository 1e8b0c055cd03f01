package reply

import (
	"context"
	"errors"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/view"
)

// ProblemOf is what an error means over HTTP; of a Problem it is that.
func ProblemOf(err error) *Problem {
	var p *Problem
	var lost *holdfast.LostError
	var tenure *holdfast.TenureError
	var refused driver.ServerError
	text := strings.TrimPrefix(err.Error(), "holdfast: ")
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, holdfast.ErrClosed):
		return NewProblem("closing", "%s", text)
	case errors.As(err, &lost):
		return NewProblem("lost", "%s", text).With("cause", lost.Cause).With("reason", lost.Reason).With("token", lost.Token)
	case errors.As(err, &tenure):
		return NewProblem("not-holder", "%s", text).With("holder", holderOf(tenure))
	case errors.Is(err, holdfast.ErrName):
		return NewProblem("bad-name", "%s", text)
	case errors.Is(err, holdfast.ErrExport):
		return NewProblem("bad-lease", "the header Holdfast-Lease is not a complete lease from POST /v1/leases, or belongs to another prefix")
	case errors.Is(err, holdfast.ErrSize):
		return NewProblem("bad-request", "%s", text)
	case errors.Is(err, holdfast.ErrKind):
		return NewProblem("kind", "%s", text)
	case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, holdfast.ErrReplicas), errors.Is(err, holdfast.ErrTooSlow), errors.Is(err, holdfast.ErrUnknown):
		return NewProblem("unavailable", "%s", text)
	case errors.Is(err, holdfast.ErrVersion):
		return NewProblem("version", "%s", text)
	case errors.As(err, &refused):
		return NewProblem("refused", "%s", text)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return NewProblem("unavailable", "no answer in time")
	}
	return NewProblem("internal", "%s", text)
}

// holderOf describes the holder that the error names; nil: the name is free.
func holderOf(e *holdfast.TenureError) *view.Holder {
	if e.Free {
		return nil
	}
	return view.NewHolder(&admin.Holder{Owner: e.Owner, Hash: e.Hash, Foreign: e.Foreign, Cooldown: e.Cooldown, Remaining: e.Remaining})
}
