package holdfast

import (
	"context"
	"strconv"
)

// Adopt goes on with a hold that another process gave away by Lease.Export, and
// returns the lease: a tenure of this Client from now on, with its ttl, its owner
// and a token above all before. Of several that adopt one text, one at most gets the lease; the
// others, and who comes after the ttl of the exporter, get ErrLost: cause Taken or Gone,
// Revoked or Stolen if somebody ordered that meanwhile.
//
// The term of an Election becomes a new one of this Client, with the value that the exporter
// proclaimed last, or else campaigned with, and is announced as Campaign does. Nobody can lead in between, and
// candidates that wait keep their places. Its token is another: what the
// exporter still does by the old one is refused where tokens are checked.
//
// It costs one round trip. ctx bounds the wait for Redis. When it ends, or Adopt fails after Redis was
// asked (ErrUnreachable, ErrTooSlow, ErrReplicas), the hold is given back if it
// has been taken over, and can be adopted again if not. Other errors: a text that is
// damaged or was exported under another Options.Prefix, ErrClosed, a ServerError.
// A Client of a quorum can't.
func (c *Client) Adopt(ctx context.Context, text string) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x, k, err := c.readExport(text, "Adopt")
	if err != nil {
		return nil, err
	}
	w := c.newCaller(false)
	defer w.free(c.core)
	var who *candidate
	if x.leads {
		who = newCandidate(x.value)
	}
	if err := c.adopt(w, &x, k, who); err != nil {
		return nil, err
	}
	lease, err := w.await(ctx, c)
	if err == nil && x.leads {
		who.elected(ctx, lease)
	}
	return lease, err
}

// adopt sets out to adopt, in a line of its own: callers of this process that
// wait for the name stand in Q, where they were.
func (c *core) adopt(w *caller, x *exported, k *keys, who *candidate) error {
	c.mu.Lock()
	defer c.unlock()
	if c.closed {
		return ErrClosed
	}
	now := c.clock.now()
	l := c.newLine(x.name+"\x00adopt"+strconv.FormatUint(c.random(), 36), x.name, k, nil) // no name has a zero byte
	l.adopts, l.candidate = x, who
	l.tenure = c.newTenure(l)
	l.admit(w, now)
	l.step(now)
	return nil
}

// notAdopted: somebody else has adopted it, or it is over.
func (l *line) notAdopted(a answer) {
	lost := &LostError{Name: l.name, Cause: Gone, Reason: a.reason}
	switch {
	case a.word == "revoked":
		lost.Cause = Revoked
	case a.word == "stolen":
		lost.Cause = Stolen
	case a.holder != "":
		lost.Cause = Taken
	}
	l.reject(lost)
}
