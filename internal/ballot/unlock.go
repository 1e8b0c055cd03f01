package ballot

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// unlock is the release of a tenure: done has the nodes that have run it.
type unlock struct {
	b      *Ballot
	tenure *tenure
	runs   []string
	done   []bool
	newest *round
}

// round is one request to unlock: it asks the nodes that have not run unlock yet.
type round struct {
	*unlock
	request *Request
	owed    []bool // by node: its call has failed, and it may still have the id
	open    int    // calls that have not come back
	err     error
}

// begin asks them. The name is released when a majority has run unlock. The other nodes get unlock
// again in the background.
func (r *round) begin() {
	t, q := r.tenure, r.request
	r.newest, r.owed = r, make([]bool, len(r.done))
	args := r.b.unlockArgs(t.id)
	for i, done := range r.done {
		if !done {
			r.open++
			r.b.send(i, script.QuorumUnlock, t.place, args, q.Sent, q.Attempt, r)
		}
	}
}

// answered takes a node's answer. "not held" counts as released.
func (r *round) answered(c *Call, a wire.Answer, err error, now clock.Instant) {
	if err == nil {
		r.done[c.Node], r.runs[c.Node] = true, a.Run
		r.b.yield(r.tenure.place, a, now)
	}
	if r.tenure.phase != unlocking { // a majority of other nodes has run unlock
		r.owed[c.Node] = err != nil && wire.Transient(err)
		r.owe(now)
		return
	}
	if err != nil && r.newest == r {
		r.err, r.owed[c.Node] = err, wire.Transient(err)
	}
	has := func(i int) (string, bool) { return r.runs[i], r.done[i] }
	if majority.Distinct(len(r.done), has) >= r.b.need || !slices.Contains(r.done, false) {
		newest := r.newest
		r.b.endTenure(r.tenure, now)
		newest.owe(now)
		r.b.host.Answer(newest.request, wire.Answer{Word: wire.Released}, nil, now)
		return
	}
	if r.newest != r {
		return
	}
	if r.open--; r.open == 0 {
		r.b.host.Answer(r.request, wire.Answer{}, cmp.Or(r.err, wire.ErrNoAnswer), now)
	}
}

// owe repeats unlock in the background on the nodes whose call has failed.
func (r *round) owe(now clock.Instant) {
	t := r.tenure
	for i, owed := range r.owed {
		if r.owed[i] = false; owed && !r.done[i] && now < t.expiry {
			r.b.undoOn(i, t.id, t.place, min(t.expiry, now.Add(t.place.TTL)), now)
		}
	}
}

// cleanup removes an id from one node. It is repeated until the node has answered, or the key has
// expired.
type cleanup struct {
	b     *Ballot
	node  int
	place *Place
	args  []string
	until clock.Instant
	wait  time.Duration // before the next try
	timer clock.Timer   // of the next try
	of    *cleanupGroup // nil: no request waits for it
}

func (k *cleanup) begin(now clock.Instant) {
	k.wait = 10 * time.Millisecond
	k.timer = clock.Timer{Fire: k.send}
	k.b.cleanups[k] = struct{}{}
	k.send(now)
}

func (k *cleanup) send(now clock.Instant) {
	k.b.send(k.node, script.QuorumUnlock, k.place, k.args, now, k.b.Attempt, k)
}

func (k *cleanup) answered(c *Call, a wire.Answer, err error, now clock.Instant) {
	if err == nil {
		k.b.yield(k.place, a, now)
	}
	transient := err != nil && wire.Transient(err)
	if transient && now < k.until {
		k.wait = clock.Backoff(k.wait, len(k.b.cleanups))
		k.b.timers.Set(&k.timer, now.Add(k.wait/2+k.b.Random(k.wait)))
		return
	}
	if err != nil && !transient { // some nodes may be down for long: that is no reason to warn
		k.b.host.Failed(k.place.Name, c, err)
	}
	delete(k.b.cleanups, k)
	delete(k.b.nodes[k.node].stale, k.args[0])
	k.of.finished(k.b, now)
}

// cleanupGroup is the cleanups of one request, one on each node.
type cleanupGroup struct {
	request *Request
	open    int // how many more must finish before the request is answered
}

func (u *cleanupGroup) finished(b *Ballot, now clock.Instant) {
	if u == nil {
		return
	}
	if u.open--; u.open == 0 {
		b.host.Answer(u.request, wire.Answer{Word: wire.Released}, nil, now)
	}
}
