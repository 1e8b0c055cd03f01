package call

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// Bounds gives requests the context that ends their attempt. A context for each request would
// cost more than the rest of the request. So requests sent within a sixteenth of an attempt
// share one, and have up to that much less time. The zero value is ready. It is not safe for
// concurrent use.
type Bounds struct {
	ctx    context.Context
	cancel context.CancelFunc // never called: requests may be under way; it ends by its time
	until  clock.Instant
}

// Attempt returns a context for a request that is sent now.
func (b *Bounds) Attempt(parent context.Context, now clock.Instant, attempt time.Duration) context.Context {
	if now >= b.until {
		b.ctx, b.cancel = context.WithTimeout(parent, attempt)
		b.until = now.Add(attempt / 16)
	}
	return b.ctx
}
