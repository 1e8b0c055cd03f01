//go:build linux

package client

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/faults/history"
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

// classUnder is classOf for a call that a caller's context may have ended.
func classUnder(ctx context.Context, err error) (history.Class, string) {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return history.Cancelled, ""
	}
	return classOf(err)
}

// classOf says what an error of holdfast came to, and its words where that is
// more than the class.
func classOf(err error) (history.Class, string) {
	if err == nil {
		return history.OK, ""
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
