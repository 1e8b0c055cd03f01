//go:build linux

package client

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/verify/history"
)

// classes are the errors that a program has to expect, the telling first: what
// is joined to others, or wrapped, comes to the first that it is.
var classes = []struct {
	is error
	history.Class
}{
	{holdfast.ErrHeld, history.Held},
	{holdfast.ErrTooSlow, history.TooSlow},
	{holdfast.ErrReplicas, history.Replicas},
	{holdfast.ErrUnknown, history.Unknown},
	{holdfast.ErrUnreachable, history.Unreachable},
	{holdfast.ErrQuorum, history.NoQuorum},
	{holdfast.ErrKind, history.KindClash},
	{holdfast.ErrClosed, history.Closed},
}

var causes = map[holdfast.Cause]history.Class{
	holdfast.Expired: history.Expired,
	holdfast.Taken:   history.Taken,
	holdfast.Gone:    history.Gone,
	holdfast.Closed:  history.Closed,
}

// classOf says what an error of holdfast came to, and its words where that is
// more than the class. ctx is the caller's own.
func classOf(ctx context.Context, err error) (history.Class, string) {
	if err == nil {
		return history.OK, ""
	}
	if ctx != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return history.Cancelled, ""
	}
	if lost, ok := errors.AsType[*holdfast.LostError](err); ok {
		if class, known := causes[lost.Cause]; known {
			return class, ""
		}
		return history.Other, err.Error()
	}
	for _, c := range classes {
		if errors.Is(err, c.is) {
			if c.Class == history.Held {
				return c.Class, ""
			}
			return c.Class, err.Error()
		}
	}
	return history.Other, err.Error()
}
