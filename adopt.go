package holdfast

import (
	"context"
	"strconv"

	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Adopt continues a hold that another process gave away with [Lease.Export], and
// returns its lease. The lease has the ttl and owner of this Client and a higher token
// than before. At most one call can adopt a text. The others, and calls after the ttl
// of the exporter, get [ErrLost].
//
// If the hold is the term of an [Election], Adopt begins a new term with the newest
// value of the exporter. No other candidate can lead in between, and waiting candidates
// keep their places.
//
// Adopt blocks until Redis has answered or ctx has ended. If it fails after Redis was
// asked, an adopted hold is released; otherwise the hold can still be adopted.
//
// Errors: [ErrLost] with its cause, [ErrExport] if the text is damaged,
// [ErrUnreachable], [ErrTooSlow], [ErrReplicas], [ErrClosed], a [driver.ServerError], or the
// error of ctx. A text that was exported under another [Options.Prefix] is an error.
func (c *Client) Adopt(ctx context.Context, text string) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x, k, err := c.readExport(text, "Adopt")
	if err != nil {
		return nil, err
	}
	w := c.newWaiter(false)
	defer w.recycle(c.core)
	var cand *candidate
	if x.Leads {
		cand = newCandidate(x.Value, c.queue)
	}
	if err := c.adopt(w, &x, k, cand); err != nil {
		return nil, err
	}
	lease, err := w.await(ctx, c)
	if err == nil && x.Leads {
		cand.elected(ctx, lease)
	}
	return lease, err
}

// adopt sets out to adopt, under a key of its own: callers of this process that
// wait for the name keep their places in the queue.
func (c *core) adopt(w *pending, x *exported.Hold, k *keyspace.Keys, cand *candidate) error {
	c.mu.Lock()
	defer c.unlock()
	if c.closed {
		return ErrClosed
	}
	now := c.clock.Now()
	n := c.newName(x.Name+"\x00adopt"+strconv.FormatUint(c.random(), 36), x.Name, k, nil) // no name has a zero byte
	n.adopting, n.candidate = x, cand
	n.tenure = c.newTenure(n)
	n.begins(&w.waiter, now)
	return nil
}
