package holdfast

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
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
	x, err := c.readExport(text, "Adopt")
	if err != nil {
		return nil, err
	}
	k := c.engine.DedicatedKind(c.engine.Owner, c.engine.TTL)
	if x.Leads {
		k = c.engine.CandidateKind(x.Value)
	}
	k.First = &machine.FirstLock{Script: script.Adopt, Args: []string{x.ID, wire.Itoa(x.Last)}}
	return c.lock(ctx, engine.Lock{Name: x.Name, Kind: k})
}
