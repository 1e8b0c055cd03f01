package holdfast

import "time"

// A request travels alone while few are under way: nothing is faster. With many under
// way the client library and the server have enough to do, and one pipeline costs
// them a fraction of what its requests cost one by one. So who comes then waits until
// fewer are, a millisecond at most, and travels with whoever else waits.

// gathering is the requests that wait for each other. Guarded by the core's mutex.
type gathering struct {
	underWay int // requests and pipelines of them that have not come back
	requests []*request
	timer    timer           // sends them when nothing comes back
	apart    instant         // until then each has a script of its own
	wanted   map[string]bool // names that were left alone by a crowd
	forgets  instant         // when these are forgotten
}

const (
	gatherFrom = 16               // so many under way are enough
	gatherFor  = time.Millisecond // at most
	gatherMost = 64               // travel together
)

// mayGather tells whether a request may travel with others. In a Cluster, as on a
// quorum, a pipeline is as slow as its slowest server; a renewal goes by its own rules,
// see send and renewApart; and one for several names is many already.
func (c *core) mayGather(r *request) bool {
	return c.quorum == nil && !c.store.Sharded() && !renews(r.call.Script) && len(r.carries) == 0
}

// gathers makes a request wait for others, if enough are under way. Else it is to go
// now.
func (c *core) gathers(r *request) bool {
	if !c.mayGather(r) {
		return false
	}
	g := &c.gathering
	if g.underWay < gatherFrom { // nobody waits then, see leave
		g.underWay++
		return false
	}
	if g.requests = append(g.requests, r); len(g.requests) == 1 {
		now := c.clock.now()
		c.schedule.set(&g.timer, now.add(gatherFor), now)
	}
	return true
}

// back notes that a request which travelled alone has come back.
func (c *core) back(r *request) {
	if c.mayGather(r) {
		c.gathering.underWay--
	}
}

// leaveGathered sends those that wait while fewer than so many are under way.
func (c *core) leaveGathered(underWay int) {
	g := &c.gathering
	for len(g.requests) > 0 && g.underWay < underWay {
		n := min(gatherMost, len(g.requests))
		batch := g.requests[:n:n]
		if g.requests = g.requests[n:]; len(g.requests) == 0 {
			g.requests = nil
			c.schedule.stop(&g.timer)
		}
		g.underWay++
		var crowd, rest []*request
		if now := c.clock.now(); now >= g.apart {
			crowd, rest = g.crowdOf(batch, now)
		}
		if len(crowd) >= crowdFrom {
			go c.performCrowd(crowd, rest)
		} else {
			go c.performAll(batch, &g.underWay)
		}
	}
}
