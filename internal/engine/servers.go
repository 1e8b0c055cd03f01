package engine

import (
	"context"
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
