package holdfast

import (
	"context"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// leader returns the leader that a majority of the nodes has, if there is one.
func (q *quorum) leader(callers context.Context, name string, k *keyspace.Keys) (Leader, error) {
	ctx, cancel := context.WithTimeout(callers, q.c.options.patience())
	defer cancel()
	ask := func(ctx context.Context, i int) (Leader, error) {
		ctx, cancel := call.ForDriver(ctx, q.c.ctx)
		defer cancel()
		reply, err := q.nodes[i].eval(ctx, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{"1", ""}})
		if err != nil {
			return Leader{}, wire.WithoutContext(err)
		}
		state, err := wire.DecodeState(reply)
		if err != nil || !state.Held {
			return Leader{}, err
		}
		leader := Leader(election.Holder(q.c.client, keyspace.WithoutToken(state.Value), state.PTTL, 0))
		if given := keyspace.TokenOf(state.Value); given+tokensOfTurns-1 == state.Token {
			leader.Term = given
		}
		return leader, nil
	}
	all, errs := majority.Ask(ctx, len(q.nodes), ask, func(all []Leader) bool { return q.agreed(all) != nil })
	switch {
	case callers.Err() != nil:
		return Leader{}, callers.Err()
	case len(all) < q.need:
		return Leader{}, wire.Failure(name, ErrUnreachable, &QuorumError{Need: q.need, Nodes: errs})
	}
	if leader := q.agreed(all); leader != nil {
		return *leader, nil
	}
	return Leader{}, nil
}

// agreed returns the leader that a majority has, or nil.
func (q *quorum) agreed(all []Leader) *Leader {
	for _, s := range all {
		if n := count(all, func(o Leader) bool { return !s.None() && o.Hash == s.Hash }); n >= q.need {
			leader := s
			leader.Term = q.termOf(leader, all)
			return &leader
		}
	}
	return nil
}

// termOf is the token with which a leader won, if that can be told. A node that gave it
// less has reserved more by now, if it counts: raise has moved its F, and every renewal does.
// So a majority that gave one token, and has reserved no more since, has among them one that
// counts, and it counts for that token.
func (q *quorum) termOf(leader Leader, all []Leader) int64 {
	same := func(o Leader) bool { return o.Hash == leader.Hash && o.Term > 0 && o.Term == leader.Term }
	if count(all, same) < q.need {
		return 0
	}
	return leader.Term
}

func count(all []Leader, has func(Leader) bool) (n int) {
	for _, s := range all {
		if has(s) {
			n++
		}
	}
	return n
}
