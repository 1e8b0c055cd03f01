package holdfast

import (
	"context"
	"time"
)

// bounds lends requests the context that ends their attempt. A context of its
// own for each costs more than all else that is done for one, so those sent
// within a sixteenth of an attempt share one and have that much less time.
type bounds struct {
	ctx    context.Context
	cancel context.CancelFunc // never called: requests may be under way; it ends by its time
	until  instant
}

func (b *bounds) attempt(parent context.Context, now instant, attempt time.Duration) context.Context {
	if now >= b.until {
		b.ctx, b.cancel = context.WithTimeout(parent, attempt)
		b.until = now.add(attempt / 16)
	}
	return b.ctx
}
