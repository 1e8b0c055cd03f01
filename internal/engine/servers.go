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

// servers is what differs for the engine between one master and the nodes of a quorum. To the
// process the nodes are one server without a queue.
type servers interface {
	// dropped takes a request that was not sent before Close. The mutex is held.
	dropped(r *machine.Request)
	// close ends what is decided here. The mutex is held.
	close(now clock.Instant)
	// awaited returns how many answers Close still waits for, after a while. The mutex is held.
	awaited(waited time.Duration) int
	// runCleanups makes the calls of Close.
	runCleanups(ctx context.Context, calls []driver.Call) error
	// leader asks for the leader of an election.
	leader(ctx context.Context, name string, k *keyspace.Keys, limit time.Duration) (election.View, error)
}

// master is one master, or a Cluster.
type master struct{ e *Engine }

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
