package holdfast

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// leader returns the leader that a majority of the nodes has, if there is one.
func (q *quorum) leader(callers context.Context, name string, k *keyspace.Keys, _ time.Duration) (election.View, error) {
	c, need := q.c, q.ballot.Need()
	ctx, cancel := context.WithTimeout(callers, c.process.Patience())
	defer cancel()
	ask := func(ctx context.Context, i int) (election.Leader, error) {
		ctx, cancel := call.ForDriver(ctx, c.ctx)
		defer cancel()
		reply, err := c.nodes[i].eval(ctx, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{"1", ""}})
		if err != nil {
			return election.Leader{}, wire.WithoutContext(err)
		}
		state, err := wire.DecodeState(reply)
		if err != nil || !state.Held {
			return election.Leader{}, err
		}
		if state.Version > 0 {
			return election.Leader{}, &wire.VersionError{Version: state.Version}
		}
		leader := election.Holder(c.process.ClientID, keyspace.WithoutToken(state.Value), state.PTTL, 0)
		if given := keyspace.TokenOf(state.Value); given+protocol.TokenBlock-1 == state.Token {
			leader.Term = given
		}
		return leader, nil
	}
	agreed := func(all []election.Leader) bool {
		_, ok := election.Agreed(all, need)
		return ok
	}
	all, errs := majority.Ask(ctx, len(c.nodes), ask, agreed)
	switch {
	case callers.Err() != nil:
		return election.View{}, callers.Err()
	case len(all) < need:
		return election.View{}, wire.Failure(name, ErrUnreachable, &QuorumError{Need: need, Nodes: errs})
	}
	leader, _ := election.Agreed(all, need)
	return election.View{Leader: leader}, nil
}
