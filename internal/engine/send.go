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
	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// perPipeline returns how many calls may share a pipeline. It is 1 in a Cluster with
// WaitReplicas, because WAIT is for one server.
func (e *Engine) perPipeline() int {
	if e.WaitReplicas > 0 && e.Sharded {
		return 1
	}
	return call.PerPipeline
}

// sending is a request that is sent alone.
type sending struct {
	*machine.Request
	ctx context.Context // bounds the attempt; nil: perform makes one
}

func (e *Engine) perform(s sending) {
	r := s.Request
	if r.Replicas > 0 { // its WAIT needs a pipeline
		e.performAll([]*machine.Request{r}, new(int))
		return
	}
	ctx := s.ctx
	if ctx == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(e.ctx, r.Attempt)
		defer cancel()
	}
	reply, err := e.servers.eval(ctx, r)
	e.mu.Lock()
	if b := e.servers.batcher(r); b != nil {
		b.underWay--
	}
	if len(r.Parts) > 0 {
		e.handOut(r, driver.Result{Reply: reply, Err: err})
	} else {
		e.handleAnswer(r, reply, err)
	}
	e.unlock()
}

// worker sends a request, and then further ones. A new goroutine grows its stack several times
// inside a client library. It costs less to keep a few idle workers.
func (e *Engine) worker(s sending) {
	const most = 16 // idle workers
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

// performAll sends requests in one pipeline and handles their answers. It then lowers underWay,
// the number of pipelines under way, by 1.
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
	var calls []driver.Call
	var attempt time.Duration
	for _, r := range requests {
		calls = append(calls, r.Call)
		attempt = max(attempt, r.Attempt)
	}
	ctx, cancel := context.WithTimeout(e.ctx, attempt)
	defer cancel()
	return e.servers.evalAll(ctx, requests, calls)
}

// handOut handles the answer of a request that carries others: each gets its share.
func (e *Engine) handOut(r *machine.Request, all driver.Result) {
	for i, carried := range r.Parts {
		share, wrong := wire.ShareOf(all.Reply, i, len(r.Parts))
		e.handleAnswer(carried, share, cmp.Or(all.Err, wrong))
	}
}

func (e *Engine) handleAnswer(r *machine.Request, reply []string, err error) {
	e.inflight--
	var a wire.Answer
	if err == nil {
		a, err = wire.DecodeAnswer(reply)
	}
	e.servers.answered(r, a, err)
}

// maxPipelines bounds the pipelines of renewals under way. If a server is too slow, further
// renewals wait here. Otherwise they would be given up and sent again, the server would execute
// both, and in the end all would be late.
const maxPipelines = 128

// sendRenewals sends renewals while fewer than maxPipelines are under way. Their ttl counts from
// now.
func (e *Engine) sendRenewals() {
	for e.pipelines < maxPipelines && len(e.renewals) > 0 && !e.client.Closed {
		n := min(e.perPipeline(), len(e.renewals))
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

// delay puts a request into its batcher and returns true, if enough requests are under way.
// Otherwise it returns false, and the caller sends the request now.
func (e *Engine) delay(r *machine.Request) bool {
	b := e.servers.batcher(r)
	if b == nil {
		return false
	}
	if b.underWay < delayFrom { // nothing waits then, see sendAndUnlock
		b.underWay++
		return false
	}
	e.delayed++
	if b.requests = append(b.requests, r); len(b.requests) == 1 {
		now := e.clock.Now()
		e.client.Schedule.Set(&b.timer, now.Add(longestDelay), now)
	}
	return true
}

// sendDelayed sends the requests of each batcher that has fewer than underWay under way.
func (e *Engine) sendDelayed(underWay int) {
	for _, b := range e.batchers {
		e.sendBatches(b, underWay)
	}
}

// newBatcher makes a batcher. Its timer sends all that waits in it.
func (e *Engine) newBatcher() *batcher {
	b := &batcher{}
	b.timer = clock.Timer{Fire: func(clock.Instant) { e.sendBatches(b, math.MaxInt) }}
	return b
}

func (e *Engine) sendBatches(b *batcher, underWay int) {
	for len(b.requests) > 0 && b.underWay < underWay {
		n := min(maxTogether, len(b.requests))
		all := b.requests[:n:n]
		e.delayed -= n
		if b.requests = b.requests[n:]; len(b.requests) == 0 {
			b.requests = nil
			e.client.Schedule.Stop(&b.timer)
		}
		b.underWay++
		var batch, rest []*machine.Request
		if now := e.clock.Now(); e.Queue && now >= b.singleUntil {
			batch, rest = b.splitBatch(all, now)
		}
		if len(batch) >= batchFrom {
			go e.performBatch(b, batch, rest)
		} else {
			go e.performAll(all, &b.underWay)
		}
	}
}

// dropDelayed drops the requests that wait in a batcher and were never sent.
func (e *Engine) dropDelayed() {
	for _, b := range e.batchers {
		for _, r := range b.requests {
			e.servers.dropped(r)
		}
		e.inflight -= len(b.requests)
		e.delayed -= len(b.requests)
		b.requests = nil
		e.client.Schedule.Stop(&b.timer)
	}
}

// performBatch sends one script for the batch, and the rest one by one, in one pipeline. It
// counts as one request under way.
func (e *Engine) performBatch(b *batcher, batch, rest []*machine.Request) {
	carrier := &machine.Request{Call: batchCall(batch), Attempt: batch[0].Attempt, Parts: batch}
	requests := append([]*machine.Request{carrier}, rest...)
	results := e.evalAll(requests)
	e.mu.Lock()
	b.underWay--
	b.noteRefused(batch, &results[0], e.clock.Now())
	e.handOut(carrier, results[0])
	for i, r := range rest {
		e.handleAnswer(r, results[i+1].Reply, results[i+1].Err)
	}
	e.unlock()
}

// servers has the differences between one master and the nodes of a quorum. For the Client,
// these nodes are one server without a queue.
type servers interface {
	// batcher returns the batcher of a request; nil: the request never waits for others. The mutex is held.
	batcher(r *machine.Request) *batcher
	// eval sends a request. evalAll sends the calls of several requests in one pipeline.
	eval(ctx context.Context, r *machine.Request) ([]string, error)
	evalAll(ctx context.Context, requests []*machine.Request, calls []driver.Call) []driver.Result
	// answered takes the answer to a request, or the error. The mutex is held.
	answered(r *machine.Request, a wire.Answer, err error)
	// dropped takes a request that was not sent before Close. The mutex is held.
	dropped(r *machine.Request)
	// close ends the ballot of a quorum. The mutex is held.
	close(now clock.Instant)
	// awaited returns for how many answers Close still has to wait. waited is the time so far. The mutex is held.
	awaited(waited time.Duration) int
	// runCleanups sends the cleanups of Close.
	runCleanups(ctx context.Context, calls []driver.Call) error
	// leader asks for the leader of an election.
	leader(ctx context.Context, name string, k *keyspace.Keys, limit time.Duration) (election.View, error)
}

// master is one master, or a Cluster.
type master struct{ e *Engine }

// batcher returns nil in three cases. In a Cluster a pipeline is as slow as its slowest server.
// Renewals have their own pipelines, see sendRenewals. A request with Parts is several requests
// already.
func (m master) batcher(r *machine.Request) *batcher {
	if m.e.Sharded || r.Renews || len(r.Parts) > 0 {
		return nil
	}
	return m.e.batchers[0]
}

func (m master) eval(ctx context.Context, r *machine.Request) ([]string, error) {
	reply, err := m.e.store.Eval(ctx, r.Call)
	if err != nil && !r.NoFallback {
		return call.FallBack(ctx, m.e.store, r.Call, err)
	}
	return reply, err
}

// evalAll sends WAIT at the end of renewals that replicas must acknowledge.
func (m master) evalAll(ctx context.Context, requests []*machine.Request, calls []driver.Call) []driver.Result {
	if requests[0].Replicas == 0 {
		return call.EvalAll(ctx, m.e.store, calls)
	}
	results := make([]driver.Result, len(requests))
	for i, a := range m.e.replicaCalls.Eval(ctx, calls, func(i int) clock.Instant { return requests[i].Tenure.Ends() }) {
		requests[i].Acked, requests[i].Connected = a.Acked, a.Connected
		results[i] = a.Result
	}
	return results
}

func (m master) answered(r *machine.Request, a wire.Answer, err error) {
	now := m.e.clock.Now()
	if r.Renews || a.Word == wire.NotHeld {
		now = m.e.clock.Exact() // Err reads the exact clock, too: a lease that it reported as lost is not prolonged
	}
	m.e.client.HandleAnswer(r, a, err, now)
}

func (m master) dropped(*machine.Request) {}

func (m master) close(clock.Instant) {}

func (m master) awaited(time.Duration) int { return m.e.inflight }

func (m master) runCleanups(ctx context.Context, calls []driver.Call) error {
	return call.Repeat(ctx, m.e.store, calls)
}

func (m master) leader(ctx context.Context, name string, k *keyspace.Keys, limit time.Duration) (election.View, error) {
	reply, err := m.e.Calls.Run(ctx, limit, driver.Call{Script: script.ElectionLeader, Keys: k.WithTerm(), Args: nil})
	if err != nil {
		return election.View{}, wire.Unanswered(name, k.Lock(), err)
	}
	view, err := election.Decode(m.e.ClientID, reply)
	if err != nil {
		return election.View{}, wire.Failure(name, nil, err)
	}
	return view, nil
}
