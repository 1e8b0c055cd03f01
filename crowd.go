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

// What gathers is mostly about names that nobody else wants. One script does all of
// that, for less than half of what as many scripts cost the server. Of a name that is not
// so simple it says "again", and has done nothing: then a script of its own is sent.

const (
	crowdFrom    = 4           // fewer are not worth it
	crowdWanted  = 1024        // names that others want are remembered, and forgotten together
	crowdForgets = time.Minute // after so long, too: others may have lost interest
	crowdRefused = time.Minute // without it where the server refused it: a right may be missing, or memory be full
)

// inCrowd reports whether a request is about a name that nobody else wants, as far as is
// known.
func (g *gathering) inCrowd(r *request) bool {
	switch {
	case r.line.alone || g.wanted[r.line.name] || r.line.seen.known || r.tenure != nil && r.tenure.until > 0: // recalled: somebody waits
		return false
	case r.call.Script == script.Lock:
		return len(r.call.Args) == 2 || r.call.Args[3] == "0" // its place in line, if it has one
	}
	return r.call.Script == script.Unlock && len(r.call.Args) == 1
}

// crowdOf parts what one script may do from the rest. Requests of one line keep their
// order, so they are of the rest if one is.
func (g *gathering) crowdOf(batch []*request, now clock.Instant) (crowd, rest []*request) {
	if now >= g.forgets {
		g.wanted = nil
	}
	apart := map[*line]bool{}
	for _, r := range batch {
		if !g.inCrowd(r) {
			apart[r.line] = true
		}
	}
	for _, r := range batch {
		if apart[r.line] {
			rest = append(rest, r)
		} else {
			crowd = append(crowd, r)
		}
	}
	return crowd, rest
}

// leftAlone notes that others want a name.
func (g *gathering) leftAlone(l *line, now clock.Instant) {
	if l.alone = true; g.wanted == nil || len(g.wanted) >= crowdWanted {
		g.wanted, g.forgets = map[string]bool{}, now.Add(crowdForgets)
	}
	g.wanted[l.name] = true
}

// callOf is the call that does what all of them ask.
func callOf(crowd []*request) driver.Call {
	call := driver.Call{Script: script.LockBatch, Keys: make([]string, 0, 3*len(crowd)), Args: append(make([]string, 0, 1+2*len(crowd)), strideText)}
	for _, r := range crowd {
		ttl := ""
		if r.call.Script == script.Lock {
			ttl = itoa(r.line.ttl().Milliseconds())
		}
		call.Keys, call.Args = append(call.Keys, r.call.Keys[:2]...), append(call.Args, r.call.Args[0], ttl)
	}
	for _, r := range crowd {
		call.Keys = append(call.Keys, r.call.Keys[2])
	}
	return call
}

// performCrowd sends a batch of which one script may do a part. It is one of what is
// under way.
func (c *core) performCrowd(crowd, rest []*request) {
	calls, attempt := pipelined(slices.Concat(crowd, rest))
	calls = append([]driver.Call{callOf(crowd)}, calls[len(crowd):]...)
	ctx, cancel := context.WithTimeout(c.ctx, attempt)
	defer cancel()
	results := call.EvalAll(ctx, c.store, calls)
	all := results[0]
	_, refused := wire.AsServerError(all.Err) // then nothing was written that may not be asked for again
	c.mu.Lock()
	c.gathering.underWay--
	now := c.clock.Now()
	if refused {
		c.gathering.apart = now.Add(crowdRefused)
	}
	for i, r := range crowd {
		reply, err := shareOf(all.Reply, i, len(crowd))
		err = cmp.Or(all.Err, err)
		switch {
		case refused:
			reply, err = []string{"again"}, nil
		case err == nil && reply[0] == "again":
			c.gathering.leftAlone(r.line, now)
		}
		c.arrived(r, reply, err)
	}
	for i, r := range rest {
		c.arrived(r, results[1+i].Reply, results[1+i].Err)
	}
	c.unlock()
}
