package holdfast

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/machine"
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
	*machine.Request
	ctx context.Context // bounds the attempt; nil: perform makes one
}

func (c *core) perform(s sending) {
	r := s.Request
	if c.acknowledges(r) {
		c.performAll([]*machine.Request{r}, new(int))
		return
	}
	ctx := s.ctx
	if ctx == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.ctx, r.Attempt)
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

func (c *core) eval(ctx context.Context, r *machine.Request) ([]string, error) {
	switch {
	case r.Part != nil:
		return c.nodes[r.Part.Node].eval(ctx, r.Call)
	case r.NoFallback:
		return c.store.Eval(ctx, r.Call)
	}
	return call.Eval(ctx, c.store, r.Call)
}

// acknowledges reports whether replicas are to acknowledge a request: a renewal.
func (c *core) acknowledges(r *machine.Request) bool {
	return c.options.WaitReplicas > 0 && machine.Renews(r.Call.Script)
}

// performAll sends requests in one pipeline, and counts it in underWay.
func (c *core) performAll(requests []*machine.Request, underWay *int) {
	results := c.evalAll(requests)
	c.mu.Lock()
	*underWay--
	for i, r := range requests {
		c.handleAnswer(r, results[i].Reply, results[i].Err)
	}
	c.unlock()
}

func (c *core) evalAll(requests []*machine.Request) []driver.Result {
	calls, attempt := pipelined(requests)
	ctx, cancel := context.WithTimeout(c.ctx, attempt)
	defer cancel()
	if part := requests[0].Part; part != nil {
		return c.nodes[part.Node].evalAll(ctx, calls)
	}
	if c.acknowledges(requests[0]) {
		return c.evalAcknowledged(ctx, requests, calls)
	}
	return call.EvalAll(ctx, c.store, calls)
}

func pipelined(requests []*machine.Request) (calls []driver.Call, attempt time.Duration) {
	for _, r := range requests {
		calls = append(calls, r.Call)
		attempt = max(attempt, r.Attempt)
	}
	return calls, attempt
}

func (c *core) handleAnswer(r *machine.Request, reply []string, err error) {
	c.inflight--
	var a wire.Answer
	if err == nil {
		a, err = wire.DecodeAnswer(reply)
	}
	if r.Part != nil {
		c.nodes[r.Part.Node].quorum.returned(r, a, err, c.clock.Exact())
		return
	}
	now := c.clock.Now()
	if machine.Renews(r.Call.Script) || a.Word == "not held" {
		now = c.clock.Exact() // exact: a lease that Err calls lost is not prolonged
	}
	c.process.HandleAnswer(r, a, err, now)
}

// handOut hands the answer of a request to those that it carries.
func (c *core) handOut(r *machine.Request, reply []string, err error) {
	if len(r.Parts) == 0 {
		c.handleAnswer(r, reply, err)
		return
	}
	for i, carried := range r.Parts {
		share, wrong := machine.ShareOf(reply, i, len(r.Parts))
		c.handleAnswer(carried, share, cmp.Or(err, wrong))
	}
}

// evalAcknowledged sends renewals in one pipeline with WAIT at its end.
func (c *core) evalAcknowledged(ctx context.Context, requests []*machine.Request, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(requests))
	for i, a := range c.replicaCalls.Eval(ctx, calls, func(i int) clock.Instant { return requests[i].Tenure.Ends() }) {
		requests[i].Acked, requests[i].Connected = a.Acked, a.Connected
		results[i] = a.Result
	}
	return results
}

// pipelines bounds how many are under way. Requests that a server is too slow
// for must wait here. Otherwise they are given up and sent again, the server executes both,
// and in the end none is in time.
const pipelines = 128
