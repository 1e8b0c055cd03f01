package holdfast

import (
	"math"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// A request travels alone while few are under way: nothing is faster. With many under
// way the client library and the server have enough to do, and one pipeline costs
// them a fraction of what its requests cost one by one. So who comes then waits until
// fewer are, a millisecond at most, and travels with whoever else waits.

// gathering is the requests to one server that wait for each other: of a Client of one
// master all, of a quorum those to a node. Guarded by the core's mutex.
type gathering struct {
	underWay int // requests and pipelines of them that have not come back
	requests []*request
	timer    clock.Timer     // sends them when nothing comes back
	apart    clock.Instant   // until then each has a script of its own
	wanted   map[string]bool // names that were left alone by a crowd
	forgets  clock.Instant   // when these are forgotten
}

const (
	gatherFrom = 16               // so many under way are enough
	gatherFor  = time.Millisecond // at most
	gatherMost = 64               // travel together
)

// gatheringOf is where a request may wait for others; nil: nowhere. In a Cluster a
// pipeline is as slow as its slowest server; a renewal goes by its own rules, see send
// and renewApart, on one master; and one for several names is many already.
func (c *core) gatheringOf(r *request) *gathering {
	switch {
	case r.node != nil:
		return &r.node.gathering
	case c.store.Sharded() || renews(r.call.Script) || len(r.carries) > 0:
		return nil
	}
	return &c.gathering
}

// gathers makes a request wait for others, if enough are under way. Else it is to go
// now.
func (c *core) gathers(r *request) bool {
	g := c.gatheringOf(r)
	if g == nil {
		return false
	}
	if g.underWay < gatherFrom { // nobody waits then, see leave
		g.underWay++
		return false
	}
	if g.requests = append(g.requests, r); len(g.requests) == 1 {
		now := c.clock.Now()
		c.schedule.Set(&g.timer, now.Add(gatherFor), now)
	}
	return true
}

// back notes that a request which travelled alone has come back.
func (c *core) back(r *request) {
	if g := c.gatheringOf(r); g != nil {
		g.underWay--
	}
}

// leaveGathered sends those that wait for a server while fewer than so many are under way
// to it.
func (c *core) leaveGathered(underWay int) {
	if c.quorum == nil {
		c.leaveGathering(&c.gathering, underWay)
		return
	}
	for _, n := range c.quorum.nodes {
		c.leaveGathering(&n.gathering, underWay)
	}
}

// gatheringTimer sends what has waited long enough.
func (c *core) gatheringTimer(g *gathering) clock.Timer {
	return clock.Timer{Fire: func(clock.Instant) { c.leaveGathering(g, math.MaxInt) }}
}

func (c *core) leaveGathering(g *gathering, underWay int) {
	for len(g.requests) > 0 && g.underWay < underWay {
		n := min(gatherMost, len(g.requests))
		batch := g.requests[:n:n]
		if g.requests = g.requests[n:]; len(g.requests) == 0 {
			g.requests = nil
			c.schedule.Stop(&g.timer)
		}
		g.underWay++
		var crowd, rest []*request
		if now := c.clock.Now(); c.quorum == nil && now >= g.apart {
			crowd, rest = g.crowdOf(batch, now)
		}
		if len(crowd) >= crowdFrom {
			go c.performCrowd(crowd, rest)
		} else {
			go c.performAll(batch, &g.underWay)
		}
	}
}

// dropGathered forgets what waits: it was never sent. Of a quorum an unlock may be all that is
// left of a lease that was released, since others have sufficed.
func (c *core) dropGathered() {
	c.gathering.drop(c)
	if c.quorum == nil {
		return
	}
	for _, n := range c.quorum.nodes {
		for _, r := range n.gathering.requests {
			if r.call.Script == script.QuorumUnlock {
				c.late = append(c.late, chore{r.call, n})
			}
		}
		n.inflight -= n.gathering.drop(c)
	}
}

func (g *gathering) drop(c *core) (dropped int) {
	dropped = len(g.requests)
	g.requests = nil
	c.inflight -= dropped
	c.schedule.Stop(&g.timer)
	return dropped
}
