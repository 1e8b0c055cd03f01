package holdfast

import (
	"math"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/machine"
)

// A request travels alone while few are under way: nothing is faster. With many under
// way the client library and the server have enough to do, and one pipeline costs
// them a fraction of what its requests cost one by one. So a request that comes then
// waits until fewer are, a millisecond at most, and travels with the others that wait.

// batcher is the requests to one server that wait for each other: of a Client of one
// master all, of a quorum those to a node. Guarded by the core's mutex.
type batcher struct {
	underWay    int // requests and pipelines of them that have not come back
	requests    []*machine.Request
	timer       clock.Timer     // sends them when nothing comes back
	ofNode      bool            // of a quorum
	singleUntil clock.Instant   // until then each has a script of its own
	contended   map[string]bool // names that lock_batch left to a script of their own
	forgetAt    clock.Instant   // when these are forgotten
}

const (
	delayFrom    = 16               // enough are under way
	longestDelay = time.Millisecond // at most
	maxTogether  = 64               // travel together
)

// batcherOf is where a request may wait for others; nil: nowhere. In a Cluster a
// pipeline is as slow as its slowest server; a renewal goes by its own rules, see send
// and renewNow, on one master; and one for several names is many already.
func (c *core) batcherOf(r *machine.Request) *batcher {
	switch {
	case r.Part != nil:
		return c.batchers[r.Part.Node]
	case c.store.Sharded() || machine.Renews(r.Call.Script) || len(r.Parts) > 0:
		return nil
	}
	return &c.batcher
}

// delay makes a request wait for others, if enough are under way. Else it is sent
// now.
func (c *core) delay(r *machine.Request) bool {
	b := c.batcherOf(r)
	if b == nil {
		return false
	}
	if b.underWay < delayFrom { // nothing waits then, see unlockAndSend
		b.underWay++
		return false
	}
	if b.requests = append(b.requests, r); len(b.requests) == 1 {
		now := c.clock.Now()
		c.process.Schedule.Set(&b.timer, now.Add(longestDelay), now)
	}
	return true
}

// returned notes that a request which travelled alone has come back.
func (c *core) returned(r *machine.Request) {
	if b := c.batcherOf(r); b != nil {
		b.underWay--
	}
}

// sendDelayed sends the requests that wait for a server while fewer than underWay are under way
// to it.
func (c *core) sendDelayed(underWay int) {
	for _, b := range c.batchers {
		c.sendBatches(b, underWay)
	}
}

// batcherTimer sends what has waited long enough.
func (c *core) batcherTimer(b *batcher) clock.Timer {
	return clock.Timer{Fire: func(clock.Instant) { c.sendBatches(b, math.MaxInt) }}
}

func (c *core) sendBatches(b *batcher, underWay int) {
	for len(b.requests) > 0 && b.underWay < underWay {
		n := min(maxTogether, len(b.requests))
		all := b.requests[:n:n]
		if b.requests = b.requests[n:]; len(b.requests) == 0 {
			b.requests = nil
			c.process.Schedule.Stop(&b.timer)
		}
		b.underWay++
		var batch, rest []*machine.Request
		if now := c.clock.Now(); !b.ofNode && now >= b.singleUntil {
			batch, rest = b.splitBatch(all, now)
		}
		if len(batch) >= batchFrom {
			go c.performBatch(batch, rest)
		} else {
			go c.performAll(all, &b.underWay)
		}
	}
}

// dropDelayed forgets what waits: it was never sent.
func (c *core) dropDelayed() {
	for _, b := range c.batchers {
		for _, r := range b.requests {
			c.servers.dropped(r)
		}
		c.inflight -= len(b.requests)
		b.requests = nil
		c.process.Schedule.Stop(&b.timer)
	}
}
