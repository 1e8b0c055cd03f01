package engine

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A request travels alone while few are under way: nothing is faster. With many under
// way the client library and the server have enough to do, and one pipeline costs
// them a fraction of what its requests cost one by one. So a request that comes then
// waits until fewer are, a millisecond at most, and travels with the others that wait.

// batcher is the requests to one server that wait for each other: of a Client of one
// master all, of a quorum those to a node. Guarded by the engine's mutex.
type batcher struct {
	underWay    int // requests and pipelines of them that have not come back
	requests    []*machine.Request
	timer       clock.Timer     // sends them when nothing comes back
	singleUntil clock.Instant   // until then each has a script of its own
	contended   map[string]bool // names that lock_batch left to a script of their own
	forgetAt    clock.Instant   // when these are forgotten
}

const (
	delayFrom    = 16               // enough are under way
	longestDelay = time.Millisecond // at most
	maxTogether  = 64               // travel together
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
func (b *batcher) canBatch(r *machine.Request) bool {
	switch {
	case b.contended[r.Local.Name] || r.MayBeContended():
		return false
	case r.Call.Script == script.Lock:
		return len(r.Call.Args) == 1 || r.Call.Args[2] == "0" // its place in the queue, if it has one
	}
	return r.Call.Script == script.Unlock && len(r.Call.Args) == 1
}

// splitBatch separates what one script may do from the rest. Requests of one name keep
// their order, so all of them are in the rest if one is.
func (b *batcher) splitBatch(all []*machine.Request, now clock.Instant) (batch, rest []*machine.Request) {
	if now >= b.forgetAt {
		b.contended = nil
	}
	single := map[*machine.Name]bool{}
	for _, r := range all {
		if !b.canBatch(r) {
			single[r.Local] = true
		}
	}
	for _, r := range all {
		if single[r.Local] {
			rest = append(rest, r)
		} else {
			batch = append(batch, r)
		}
	}
	return batch, rest
}

// check looks at what the script of a batch has answered. It remembers which names others want. If
// the server has refused the script, nothing was written that may not be asked for again.
func (b *batcher) check(batch []*machine.Request, all *driver.Result, now clock.Instant) {
	if _, refused := wire.AsServerError(all.Err); refused {
		b.singleUntil = now.Add(singleFor)
		*all = driver.Result{Reply: slices.Repeat([]string{"again"}, len(batch))}
		return
	}
	for i, r := range batch {
		if share, err := wire.ShareOf(all.Reply, i, len(batch)); all.Err == nil && err == nil && share[0] == "again" {
			b.noteContended(r.Local, now)
		}
	}
}

// noteContended notes that others want a name.
func (b *batcher) noteContended(n *machine.Name, now clock.Instant) {
	if n.BatchRefused(); b.contended == nil || len(b.contended) >= maxContended {
		b.contended, b.forgetAt = map[string]bool{}, now.Add(contendedFor)
	}
	b.contended[n.Name] = true
}

// batchCall is the call that does what all of them ask.
func batchCall(batch []*machine.Request) driver.Call {
	call := driver.Call{Script: script.LockBatch, Keys: make([]string, 0, 3*len(batch)), Args: make([]string, 0, 2*len(batch))}
	for _, r := range batch {
		ttl := ""
		if r.Call.Script == script.Lock {
			ttl = wire.Itoa(r.Local.Kind.TTL.Milliseconds())
		}
		call.Keys, call.Args = append(call.Keys, r.Call.Keys[:2]...), append(call.Args, r.Call.Args[0], ttl)
	}
	for _, r := range batch {
		call.Keys = append(call.Keys, r.Call.Keys[2])
	}
	return call
}
