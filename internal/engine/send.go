package engine

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// batch is how many calls do travel together: in a Cluster WAIT is for one
// server alone.
func (e *Engine) batch() int {
	if e.WaitReplicas > 0 && e.Sharded {
		return 1
	}
	return call.PerPipeline
}

// sending is a request that goes out alone.
type sending struct {
	*machine.Request
	ctx context.Context // bounds the attempt; nil: perform makes one
}

func (e *Engine) perform(s sending) {
	r := s.Request
	if e.acknowledges(r) {
		e.performAll([]*machine.Request{r}, new(int))
		return
	}
	ctx := s.ctx
	if ctx == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(e.ctx, r.Attempt)
		defer cancel()
	}
	reply, err := e.eval(ctx, r)
	e.mu.Lock()
	e.returned(r)
	e.handOut(r, reply, err)
	e.unlock()
}

// worker performs a request, and then others: a fresh goroutine's stack grows
// several times on the way into a client library, which costs more than to keep
// a few.
func (e *Engine) worker(s sending) {
	const most = 16 // idle
	for {
		e.perform(s)
		if e.idle.Add(1) > most {
			e.idle.Add(-1)
			return
		}
		select {
		case s = <-e.work:
			e.idle.Add(-1)
		case <-e.Stopped:
			return
		}
	}
}

func (e *Engine) eval(ctx context.Context, r *machine.Request) ([]string, error) {
	switch {
	case r.Part != nil:
		return e.nodes[r.Part.Node].eval(ctx, r.Call)
	case r.NoFallback:
		return e.store.Eval(ctx, r.Call)
	}
	return call.Eval(ctx, e.store, r.Call)
}

// acknowledges reports whether replicas are to acknowledge a request: a renewal.
func (e *Engine) acknowledges(r *machine.Request) bool {
	return e.WaitReplicas > 0 && machine.Renews(r.Call.Script)
}

// performAll sends requests in one pipeline, and counts it in underWay.
func (e *Engine) performAll(requests []*machine.Request, underWay *int) {
	results := e.evalAll(requests)
	e.mu.Lock()
	*underWay--
	for i, r := range requests {
		e.handleAnswer(r, results[i].Reply, results[i].Err)
	}
	e.unlock()
}

func (e *Engine) evalAll(requests []*machine.Request) []driver.Result {
	calls, attempt := pipelined(requests)
	ctx, cancel := context.WithTimeout(e.ctx, attempt)
	defer cancel()
	if part := requests[0].Part; part != nil {
		return e.nodes[part.Node].evalAll(ctx, calls)
	}
	if e.acknowledges(requests[0]) {
		return e.evalAcknowledged(ctx, requests, calls)
	}
	return call.EvalAll(ctx, e.store, calls)
}

func pipelined(requests []*machine.Request) (calls []driver.Call, attempt time.Duration) {
	for _, r := range requests {
		calls = append(calls, r.Call)
		attempt = max(attempt, r.Attempt)
	}
	return calls, attempt
}

func (e *Engine) handleAnswer(r *machine.Request, reply []string, err error) {
	e.inflight--
	var a wire.Answer
	if err == nil {
		a, err = wire.DecodeAnswer(reply)
	}
	if r.Part != nil {
		e.nodes[r.Part.Node].quorum.returned(r, a, err, e.clock.Exact())
		return
	}
	now := e.clock.Now()
	if machine.Renews(r.Call.Script) || a.Word == "not held" {
		now = e.clock.Exact() // exact: a lease that Err calls lost is not prolonged
	}
	e.process.HandleAnswer(r, a, err, now)
}

// handOut hands the answer of a request to those that it carries.
func (e *Engine) handOut(r *machine.Request, reply []string, err error) {
	if len(r.Parts) == 0 {
		e.handleAnswer(r, reply, err)
		return
	}
	for i, carried := range r.Parts {
		share, wrong := machine.ShareOf(reply, i, len(r.Parts))
		e.handleAnswer(carried, share, cmp.Or(err, wrong))
	}
}

// evalAcknowledged sends renewals in one pipeline with WAIT at its end.
func (e *Engine) evalAcknowledged(ctx context.Context, requests []*machine.Request, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(requests))
	for i, a := range e.replicaCalls.Eval(ctx, calls, func(i int) clock.Instant { return requests[i].Tenure.Ends() }) {
		requests[i].Acked, requests[i].Connected = a.Acked, a.Connected
		results[i] = a.Result
	}
	return results
}

// pipelines bounds how many are under way. Requests that a server is too slow
// for must wait here. Otherwise they are given up and sent again, the server executes both,
// and in the end none is in time.
const pipelines = 128

// sendRenewals sends as many of the renewals as may be under way. Their lives
// begin now.
func (e *Engine) sendRenewals() {
	for e.pipelines < pipelines && len(e.renewals) > 0 && !e.process.Closed {
		n := min(e.batch(), len(e.renewals))
		now := e.clock.Now()
		batch := slices.DeleteFunc(e.renewals[:n:n], func(r *machine.Request) bool { return !r.MarkSent(now) })
		e.renewals = e.renewals[n:]
		if len(batch) == 0 {
			continue
		}
		e.pipelines++
		e.inflight += len(batch)
		go e.performAll(batch, &e.pipelines)
	}
	if len(e.renewals) == 0 {
		e.renewals = nil
	}
}

// batcherOf is where a request may wait for others; nil: nowhere. In a Cluster a
// pipeline is as slow as its slowest server; a renewal goes by its own rules, see send
// and renewNow, on one master; and one for several names is many already.
func (e *Engine) batcherOf(r *machine.Request) *batcher {
	switch {
	case r.Part != nil:
		return e.batchers[r.Part.Node]
	case e.Sharded || machine.Renews(r.Call.Script) || len(r.Parts) > 0:
		return nil
	}
	return &e.batcher
}

// delay makes a request wait for others, if enough are under way. Else it is sent
// now.
func (e *Engine) delay(r *machine.Request) bool {
	b := e.batcherOf(r)
	if b == nil {
		return false
	}
	if b.underWay < delayFrom { // nothing waits then, see unlockAndSend
		b.underWay++
		return false
	}
	if b.requests = append(b.requests, r); len(b.requests) == 1 {
		now := e.clock.Now()
		e.process.Schedule.Set(&b.timer, now.Add(longestDelay), now)
	}
	return true
}

// returned notes that a request which travelled alone has come back.
func (e *Engine) returned(r *machine.Request) {
	if b := e.batcherOf(r); b != nil {
		b.underWay--
	}
}

// sendDelayed sends the requests that wait for a server while fewer than underWay are under way
// to it.
func (e *Engine) sendDelayed(underWay int) {
	for _, b := range e.batchers {
		e.sendBatches(b, underWay)
	}
}

// batcherTimer sends what has waited long enough.
func (e *Engine) batcherTimer(b *batcher) clock.Timer {
	return clock.Timer{Fire: func(clock.Instant) { e.sendBatches(b, math.MaxInt) }}
}

func (e *Engine) sendBatches(b *batcher, underWay int) {
	for len(b.requests) > 0 && b.underWay < underWay {
		n := min(maxTogether, len(b.requests))
		all := b.requests[:n:n]
		if b.requests = b.requests[n:]; len(b.requests) == 0 {
			b.requests = nil
			e.process.Schedule.Stop(&b.timer)
		}
		b.underWay++
		var batch, rest []*machine.Request
		if now := e.clock.Now(); !b.ofNode && now >= b.singleUntil {
			batch, rest = b.splitBatch(all, now)
		}
		if len(batch) >= batchFrom {
			go e.performBatch(batch, rest)
		} else {
			go e.performAll(all, &b.underWay)
		}
	}
}

// dropDelayed forgets what waits: it was never sent.
func (e *Engine) dropDelayed() {
	for _, b := range e.batchers {
		for _, r := range b.requests {
			e.servers.dropped(r)
		}
		e.inflight -= len(b.requests)
		b.requests = nil
		e.process.Schedule.Stop(&b.timer)
	}
}

// performBatch sends requests; one script does the batch among them. It counts as one request
// under way.
func (e *Engine) performBatch(batch, rest []*machine.Request) {
	calls, attempt := pipelined(slices.Concat(batch, rest))
	calls = append([]driver.Call{batchCall(batch)}, calls[len(batch):]...)
	ctx, cancel := context.WithTimeout(e.ctx, attempt)
	defer cancel()
	results := call.EvalAll(ctx, e.store, calls)
	all := results[0]
	_, refused := wire.AsServerError(all.Err) // then nothing was written that may not be asked for again
	e.mu.Lock()
	e.batcher.underWay--
	now := e.clock.Now()
	if refused {
		e.batcher.singleUntil = now.Add(singleFor)
	}
	for i, r := range batch {
		reply, err := machine.ShareOf(all.Reply, i, len(batch))
		err = cmp.Or(all.Err, err)
		switch {
		case refused:
			reply, err = []string{"again"}, nil
		case err == nil && reply[0] == "again":
			e.batcher.noteContended(r.Local, now)
		}
		e.handleAnswer(r, reply, err)
	}
	for i, r := range rest {
		e.handleAnswer(r, results[1+i].Reply, results[1+i].Err)
	}
	e.unlock()
}
