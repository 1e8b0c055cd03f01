package holdfast

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Requests that wait for each other are mostly about names that nobody else wants. One
// script does all of them, for less than half of what as many scripts cost the server. For
// a name that is not so simple it answers "again" and does nothing: then a script for that
// name is sent.

const (
	batchFrom    = 4           // fewer are not worth it
	maxContended = 1024        // names that others want are remembered, and forgotten together
	contendedFor = time.Minute // after so long, too: others may have lost interest
	singleFor    = time.Minute // without it where the server refused it: a right may be missing, or memory be full
)

// canBatch reports whether a request is about a name that nobody else wants, as far as is
// known.
func (b *batcher) canBatch(r *request) bool {
	switch {
	case b.contended[r.local.name] || r.mayBeContended():
		return false
	case r.call.Script == script.Lock:
		return len(r.call.Args) == 1 || r.call.Args[2] == "0" // its place in the queue, if it has one
	}
	return r.call.Script == script.Unlock && len(r.call.Args) == 1
}

// splitBatch separates what one script may do from the rest. Requests of one name keep
// their order, so all of them are in the rest if one is.
func (b *batcher) splitBatch(all []*request, now clock.Instant) (batch, rest []*request) {
	if now >= b.forgetAt {
		b.contended = nil
	}
	single := map[*localName]bool{}
	for _, r := range all {
		if !b.canBatch(r) {
			single[r.local] = true
		}
	}
	for _, r := range all {
		if single[r.local] {
			rest = append(rest, r)
		} else {
			batch = append(batch, r)
		}
	}
	return batch, rest
}

// noteContended notes that others want a name.
func (b *batcher) noteContended(n *localName, now clock.Instant) {
	if n.goAlone(); b.contended == nil || len(b.contended) >= maxContended {
		b.contended, b.forgetAt = map[string]bool{}, now.Add(contendedFor)
	}
	b.contended[n.name] = true
}

// batchCall is the call that does what all of them ask.
func batchCall(batch []*request) driver.Call {
	call := driver.Call{Script: script.LockBatch, Keys: make([]string, 0, 3*len(batch)), Args: make([]string, 0, 2*len(batch))}
	for _, r := range batch {
		ttl := ""
		if r.call.Script == script.Lock {
			ttl = wire.Itoa(r.local.kind.ttl.Milliseconds())
		}
		call.Keys, call.Args = append(call.Keys, r.call.Keys[:2]...), append(call.Args, r.call.Args[0], ttl)
	}
	for _, r := range batch {
		call.Keys = append(call.Keys, r.call.Keys[2])
	}
	return call
}

// performBatch sends requests; one script does the batch among them. It counts as one request
// under way.
func (c *core) performBatch(batch, rest []*request) {
	calls, attempt := pipelined(slices.Concat(batch, rest))
	calls = append([]driver.Call{batchCall(batch)}, calls[len(batch):]...)
	ctx, cancel := context.WithTimeout(c.ctx, attempt)
	defer cancel()
	results := call.EvalAll(ctx, c.store, calls)
	all := results[0]
	_, refused := wire.AsServerError(all.Err) // then nothing was written that may not be asked for again
	c.mu.Lock()
	c.batcher.underWay--
	now := c.clock.Now()
	if refused {
		c.batcher.singleUntil = now.Add(singleFor)
	}
	for i, r := range batch {
		reply, err := shareOf(all.Reply, i, len(batch))
		err = cmp.Or(all.Err, err)
		switch {
		case refused:
			reply, err = []string{"again"}, nil
		case err == nil && reply[0] == "again":
			c.batcher.noteContended(r.local, now)
		}
		c.handleAnswer(r, reply, err)
	}
	for i, r := range rest {
		c.handleAnswer(r, results[1+i].Reply, results[1+i].Err)
	}
	c.unlock()
}
