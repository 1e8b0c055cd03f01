package holdfast

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// batch is how many calls do travel together: in a Cluster WAIT is for one
// server alone.
func (c *core) batch() int {
	if c.options.WaitReplicas > 0 && c.store.Sharded() {
		return 1
	}
	return call.PerPipeline
}

// sending is a request that goes out alone.
type sending struct {
	*request
	ctx context.Context // bounds the attempt; nil: perform makes one
}

func (c *core) perform(s sending) {
	r := s.request
	if c.acknowledges(r) {
		c.performAll([]*request{r}, new(int))
		return
	}
	ctx := s.ctx
	if ctx == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.ctx, r.attempt)
		defer cancel()
	}
	reply, err := c.eval(ctx, r)
	c.mu.Lock()
	c.returned(r)
	c.handOut(r, reply, err)
	c.unlock()
}

// worker performs a request, and then others: a fresh goroutine's stack grows
// several times on the way into a client library, which costs more than to keep
// a few.
func (c *core) worker(s sending) {
	const most = 16 // idle
	for {
		c.perform(s)
		if c.idle.Add(1) > most {
			c.idle.Add(-1)
			return
		}
		select {
		case s = <-c.work:
			c.idle.Add(-1)
		case <-c.stopped:
			return
		}
	}
}

func (c *core) eval(ctx context.Context, r *request) ([]string, error) {
	switch {
	case r.part != nil:
		return c.nodes[r.part.Node].eval(ctx, r.call)
	case r.wholeOnly:
		return c.store.Eval(ctx, r.call)
	}
	return call.Eval(ctx, c.store, r.call)
}

// acknowledges reports whether replicas are to acknowledge a request: a renewal.
func (c *core) acknowledges(r *request) bool {
	return c.options.WaitReplicas > 0 && renews(r.call.Script)
}

// performAll sends requests in one pipeline, and counts it in underWay.
func (c *core) performAll(requests []*request, underWay *int) {
	results := c.evalAll(requests)
	c.mu.Lock()
	*underWay--
	for i, r := range requests {
		c.handleAnswer(r, results[i].Reply, results[i].Err)
	}
	c.unlock()
}

func (c *core) evalAll(requests []*request) []driver.Result {
	calls, attempt := pipelined(requests)
	ctx, cancel := context.WithTimeout(c.ctx, attempt)
	defer cancel()
	if part := requests[0].part; part != nil {
		return c.nodes[part.Node].evalAll(ctx, calls)
	}
	if c.acknowledges(requests[0]) {
		return c.evalAcknowledged(ctx, requests, calls)
	}
	return call.EvalAll(ctx, c.store, calls)
}

func pipelined(requests []*request) (calls []driver.Call, attempt time.Duration) {
	for _, r := range requests {
		calls = append(calls, r.call)
		attempt = max(attempt, r.attempt)
	}
	return calls, attempt
}

func (c *core) handleAnswer(r *request, reply []string, err error) {
	c.inflight--
	var a wire.Answer
	if err == nil {
		a, err = wire.DecodeAnswer(reply)
	}
	if r.part != nil {
		c.nodes[r.part.Node].quorum.returned(r, a, err, c.clock.Exact())
		return
	}
	now := c.clock.Now()
	if renews(r.call.Script) || a.Word == "not held" {
		now = c.clock.Exact() // exact: a lease that Err calls lost is not prolonged
	}
	c.process.handleAnswer(r, a, err, now)
}

// handOut hands the answer of a request to those that it carries.
func (c *core) handOut(r *request, reply []string, err error) {
	if len(r.parts) == 0 {
		c.handleAnswer(r, reply, err)
		return
	}
	for i, carried := range r.parts {
		share, wrong := shareOf(reply, i, len(r.parts))
		c.handleAnswer(carried, share, cmp.Or(err, wrong))
	}
}

// evalAcknowledged sends renewals in one pipeline with WAIT at its end.
func (c *core) evalAcknowledged(ctx context.Context, requests []*request, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(requests))
	for i, a := range c.replicaCalls.Eval(ctx, calls, func(i int) clock.Instant { return requests[i].tenure.ends() }) {
		requests[i].acked, requests[i].connected = a.Acked, a.Connected
		results[i] = a.Result
	}
	return results
}

// pipelines bounds how many are under way. Requests that a server is too slow
// for must wait here. Otherwise they are given up and sent again, the server executes both,
// and in the end none is in time.
const pipelines = 128
