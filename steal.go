package holdfast

import (
	"context"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Steal takes the name from its holder at once and returns a lease of it. Waiters keep
// their places and wait for this lease to end. TWO PROCESSES CAN BELIEVE THAT THEY HOLD
// THE NAME until the old holder notices the loss: see Steal of package admin.
//
// The tenure is the hash of the holder you mean, from Hash of admin.Holder. If it does
// not hold the name any more, Steal returns [ErrTenure] and changes nothing. The holder
// can read the first 200 bytes of reason. The lease is like that of Lock, with the
// fields of this Mutex.
//
// Steal waits only for Redis, and ctx bounds that. After [ErrUnreachable] or the error
// of ctx, the old holder may have lost the name; the next waiter then gets it. After
// [ErrTooSlow] or [ErrReplicas] the old holder has lost the name. Other errors:
// [ErrName], [ErrClosed], a [driver.ServerError], and an error for a bad tenure or reason. It
// returns [ErrKind] for a Semaphore or RWMutex: use package admin. A Mutex of a
// [QuorumClient] returns an error.
func (m *Mutex) Steal(ctx context.Context, tenure, reason string) (*Lease, error) {
	if err := m.checkHold(); err != nil {
		return nil, err
	}
	first, err := m.client.stealing(ctx, m.name, tenure, reason)
	if err != nil {
		return nil, err
	}
	k := m.ownKind()
	k.First = first
	return m.client.lock(ctx, m.asked(k, false))
}

// stealing checks the arguments and finds the id of the tenure.
func (c *Client) stealing(ctx context.Context, name, tenure, reason string) (*machine.FirstLock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := c.openKeys(name)
	if err == nil {
		err = c.lacks(name, "Mutex.Steal")
	}
	if err != nil {
		return nil, err
	}
	if tenure, reason, err = wire.Revocation(tenure, reason); err != nil {
		return nil, wire.Failure(name, nil, err)
	}
	calls, shard := c.engine.Calls, c.engine.ShardOf(k)
	until := calls.Clock.Now().Add(c.engine.Patience())
	reply, _, err := calls.Until(ctx, until, name, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{"1", shard}})
	if err != nil {
		return nil, err
	}
	if len(reply) > 0 && reply[0] == "other kind" {
		a, err := wire.DecodeAnswer(reply)
		if err != nil {
			return nil, wire.Failure(name, nil, err)
		}
		return nil, publicError(&machine.AnotherKind{Name: name, Answer: a})
	}
	state, err := wire.DecodeState(reply)
	if err != nil {
		return nil, wire.Failure(name, nil, err)
	}
	if state.Version > 0 {
		return nil, wire.Failure(name, nil, &wire.VersionError{Version: state.Version})
	}
	id := state.Tenure(tenure)
	if id == "" {
		e := tenureError(name, tenure, state.Value, state.Held)
		e.Remaining = state.PTTL
		return nil, e
	}
	return &machine.FirstLock{
		Script: script.Take, Args: []string{shard, id, reason},
		Victim: machine.Victim{ID: id, Hash: tenure, Reason: reason},
	}, nil
}
