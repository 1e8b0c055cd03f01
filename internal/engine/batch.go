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

// While few requests are under way, each is sent alone, because nothing is faster. With many under
// way, one pipeline costs the client library and the server a fraction of what single requests
// cost. So a further request then waits, at most 1 ms, until fewer are under way. It is sent
// together with the other waiting requests.

// batcher has the requests to one server that wait to be sent together. The engine of one master
// has one batcher, the engine of a quorum one for each node. The engine's mutex protects it.
type batcher struct {
	underWay    int // single requests and pipelines that are not answered yet
	requests    []*machine.Request
	timer       clock.Timer     // sends the requests after longestDelay
	singleUntil clock.Instant   // until then lock_batch is not used
	contended   map[string]bool // names for which lock_batch answered "again"
	forgetAt    clock.Instant   // when contended is cleared
}

const (
	delayFrom    = 16               // a request waits if this number is under way
	longestDelay = time.Millisecond // of a request
	maxTogether  = 64               // requests in one pipeline
)

// Most of the requests that wait are about names that no other client wants. One script,
// lock_batch, does all of these, for less than half of what single scripts cost the server. For any
// other name it does nothing and answers "again": then a script for that name is sent.

const (
	batchFrom    = 4           // a smaller batch saves too little
	maxContended = 1024        // names in contended; then it is cleared
	contendedFor = time.Minute // and after this time, because other clients may not want the names any more
	singleFor    = time.Minute // without lock_batch after the server refused it: a right may be missing, or its memory full
)

// splitBatch separates the requests for lock_batch from the rest. Requests for one name keep
// their order: if one is in the rest, all are.
func (b *batcher) splitBatch(all []*machine.Request, now clock.Instant) (batch, rest []*machine.Request) {
	if now >= b.forgetAt {
		b.contended = nil
	}
	single := map[*machine.Name]bool{}
	for _, r := range all {
		if !r.Batchable() || b.contended[r.Name.Text] {
			single[r.Name] = true
		}
	}
	for _, r := range all {
		if single[r.Name] {
			rest = append(rest, r)
		} else {
			batch = append(batch, r)
		}
	}
	return batch, rest
}

// noteRefused remembers the names for which lock_batch has answered "again". If the server refused
// lock_batch, noteRefused makes that the answer for all: each request may run twice.
func (b *batcher) noteRefused(batch []*machine.Request, all *driver.Result, now clock.Instant) {
	if _, refused := wire.AsServerError(all.Err); refused {
		b.singleUntil = now.Add(singleFor)
		*all = driver.Result{Reply: slices.Repeat([]string{"again"}, len(batch))}
		return
	}
	for i, r := range batch {
		if share, err := wire.ShareOf(all.Reply, i, len(batch)); all.Err == nil && err == nil && share[0] == "again" {
			b.noteContended(r.Name, now)
		}
	}
}

// noteContended notes that other clients want a name.
func (b *batcher) noteContended(n *machine.Name, now clock.Instant) {
	if n.NotBatched = true; b.contended == nil || len(b.contended) >= maxContended {
		b.contended, b.forgetAt = map[string]bool{}, now.Add(contendedFor)
	}
	b.contended[n.Text] = true
}

// batchCall returns the call of lock_batch for these requests.
func batchCall(batch []*machine.Request) driver.Call {
	call := driver.Call{Script: script.LockBatch, Keys: make([]string, 0, 3*len(batch)), Args: make([]string, 0, 2*len(batch))}
	for _, r := range batch {
		ttl := ""
		if r.Call.Script == script.Lock {
			ttl = wire.Itoa(r.Name.Kind.TTL.Milliseconds())
		}
		call.Keys, call.Args = append(call.Keys, r.Call.Keys[:2]...), append(call.Args, r.ID(), ttl)
	}
	for _, r := range batch {
		call.Keys = append(call.Keys, r.Call.Keys[2])
	}
	return call
}
