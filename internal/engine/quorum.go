package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// quorum is the Host of a Client whose names are locked on a quorum. Its ballot decides which
// calls each node gets, and when enough nodes have answered. The engine's mutex protects it.
type quorum struct {
	machine.Host // for all methods except Send
	e            *Engine
	nodes        []*node
	ballot       *ballot.Ballot
	timer        clock.Timer // fires when the ballot has something to do
}

// node is one master of a quorum. The engine's mutex protects it, except openCalls.
type node struct {
	quorum    *quorum
	number    int
	store     driver.Store
	openCalls atomic.Int64 // calls that the driver has not returned from
}

// newQuorum makes e the engine of a quorum.
func newQuorum(e *Engine, id string, stores []driver.Store) *quorum {
	q := &quorum{Host: e.client.Host, e: e}
	q.ballot = ballot.New(ballot.Settings{ID: id, Nodes: len(stores), Attempt: e.client.Attempt(), Random: e.client.Jitter}, nodesHost{q})
	q.timer = clock.Timer{Fire: q.tick}
	e.client.NotBefore = q.ballot.NotBefore
	e.client.Host, e.servers, e.batchers = q, q, nil
	for i, store := range stores {
		e.batchers = append(e.batchers, e.newBatcher())
		q.nodes = append(q.nodes, &node{quorum: q, number: i, store: store})
	}
	return q
}

// Send asks the ballot, which answers each lock in time. So a lock gets an Attempt of 1 h: the
// Client must not give it up first.
func (q *quorum) Send(r *machine.Request) {
	a := &ballot.Request{ID: r.ID(), Place: q.placeOf(r.Name), Sent: r.Sent, Attempt: r.Attempt, For: r}
	r.Unsent = false
	switch r.Call.Script {
	case script.Lock:
		a.Op, a.Waits, a.Wall = ballot.Lock, r.Waits, q.e.client.Wall()
		r.Attempt, r.OnAnswer = time.Hour, (*machine.Request).TryAnswered
	case script.Renew:
		a.Op = ballot.Renew
	case script.Held:
		a.Op = ballot.Held
	case script.Unlock:
		if r.Tenure == nil { // in the background
			a.Op, a.Owned = ballot.Undo, true
		} else {
			a.Op, r.OnAnswer = ballot.Unlock, (*machine.Request).MajorityUnlocked
		}
	case script.Cancel:
		a.Op = ballot.Undo
	default:
		panic("holdfast: a quorum was asked for " + r.Call.Script.Name)
	}
	q.ballot.Ask(a)
	q.arm(r.Sent)
}

func (q *quorum) placeOf(n *machine.Name) *ballot.Place {
	if n.Place == nil {
		n.Place = ballot.NewPlace(n.Text, n.Keys, n.Kind.TTL)
	}
	return n.Place
}

func (q *quorum) tick(now clock.Instant) {
	q.ballot.Tick(now)
	q.arm(now)
}

// arm sets the timer to when the ballot has something to do.
func (q *quorum) arm(now clock.Instant) {
	if next := q.ballot.Next(); next < clock.Never {
		q.e.client.Schedule.Set(&q.timer, max(next, now), now)
		return
	}
	q.e.client.Schedule.Stop(&q.timer)
}

// nodesHost implements ballot.Host.
type nodesHost struct{ *quorum }

func (q nodesHost) Send(c *ballot.Call) {
	q.Host.Send(&machine.Request{Call: c.Call, Part: c, Sent: c.Sent, Attempt: c.Attempt})
}

func (nodesHost) Answer(asked *ballot.Request, a wire.Answer, err error, now clock.Instant) {
	asked.For.(*machine.Request).Answered(a, err, now)
}

func (q nodesHost) Failed(name string, c *ballot.Call, err error) {
	q.Warn("holdfast: cleanup failed; the remaining keys expire by themselves", "name", name, "script", c.Script.Name, "error", err)
}

func (q *quorum) dropped(r *machine.Request) { q.ballot.Dropped(r.Part) }

func (q *quorum) close(now clock.Instant) { q.ballot.Close(now) }

func (q *quorum) awaited(waited time.Duration) int { return q.ballot.Busy(waited) }

// runCleanups sends each node the calls that the ballot owes it, to all nodes in parallel. It
// returns when a majority has answered and the other nodes have had their closeGrace, or when
// ctx ends. State that stays on a minority would block the name for a ttl while another node is
// down.
func (q *quorum) runCleanups(ctx context.Context, _ []driver.Call) error {
	type outcome struct {
		node int
		err  error
	}
	q.e.mu.Lock()
	calls := make([][]driver.Call, len(q.nodes))
	for _, c := range q.ballot.Owed() {
		calls[c.Node] = append(calls[c.Node], c.Call)
	}
	q.e.mu.Unlock()
	done := make(chan outcome, len(q.nodes))
	open := map[int]bool{}
	for i, n := range q.nodes {
		open[i] = true
		go func() { done <- outcome{i, call.Repeat(ctx, n.store, calls[i])} }()
	}
	good := 0
	var err error
	var over <-chan time.Time
	for len(open) > 0 {
		select {
		case o := <-done:
			delete(open, o.node)
			if o.err == nil {
				good++
			} else {
				err = o.err
			}
		case <-over:
			return nil
		}
		if good >= q.ballot.Need() && over == nil {
			over = time.After(q.closeGrace(open))
		}
	}
	if good >= q.ballot.Need() {
		return nil
	}
	return err
}

// closeGrace returns how long Close waits for these nodes after a majority has answered. A
// silent node gets leftoverPatience, enough to send its calls: calls that are not sent before Close
// returns are never sent.
func (q *quorum) closeGrace(nodes map[int]bool) (longest time.Duration) {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	for i := range nodes {
		longest = max(longest, q.ballot.Grace(i, leftoverPatience))
	}
	return longest
}

// answered passes the answer to the ballot. An error does not set NetFailed, because it says
// nothing about the other nodes.
func (q *quorum) answered(r *machine.Request, a wire.Answer, err error) {
	now := q.e.clock.Exact()
	if err == nil {
		q.e.client.LastAnswer = now
	}
	q.ballot.Answered(r.Part, a, r.Explained(err), now)
	q.arm(now)
}

func (q *quorum) batcher(r *machine.Request) *batcher { return q.e.batchers[r.Part.Node] }

func (q *quorum) eval(ctx context.Context, r *machine.Request) ([]string, error) {
	return q.nodes[r.Part.Node].eval(ctx, r.Call)
}

func (q *quorum) evalAll(ctx context.Context, requests []*machine.Request, calls []driver.Call) []driver.Result {
	return q.nodes[requests[0].Part.Node].evalAll(ctx, calls)
}

// eval runs a call. It sends nothing to a node that hangs, so that goroutines do not pile up.
func (n *node) eval(ctx context.Context, call driver.Call) ([]string, error) {
	defer n.openCalls.Add(-1)
	if n.hangs() {
		return nil, ballot.ErrNotSent
	}
	return n.store.Eval(ctx, call)
}

// evalAll is eval for the calls of a pipeline.
func (n *node) evalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	defer n.openCalls.Add(-1)
	if n.hangs() {
		return slices.Repeat([]driver.Result{{Err: ballot.ErrNotSent}}, len(calls))
	}
	return n.store.EvalAll(ctx, calls)
}

// hangs counts one more call in the driver. It reports whether the node is silent and has too
// many calls in the driver.
func (n *node) hangs() bool {
	return n.openCalls.Add(1) > ballot.MostCalls && n.quorum.ballot.Silent(n.number)
}

// leader returns the leader on which a majority of the nodes agrees, if there is one.
func (q *quorum) leader(callers context.Context, name string, k *keyspace.Keys, _ time.Duration) (election.View, error) {
	e, need := q.e, q.ballot.Need()
	ctx, cancel := context.WithTimeout(callers, e.Patience())
	defer cancel()
	ask := func(ctx context.Context, i int) (election.Leader, error) {
		ctx, cancel := call.ForDriver(ctx, e.ctx)
		defer cancel()
		reply, err := q.nodes[i].eval(ctx, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{"1", ""}})
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
		leader := election.Holder(e.ClientID, keyspace.WithoutToken(state.Value), state.PTTL, 0)
		if given := keyspace.TokenOf(state.Value); given+protocol.TokenBlock-1 == state.Token {
			leader.Term = given
		}
		return leader, nil
	}
	agreed := func(all []election.Leader) bool {
		_, ok := election.Agreed(all, need)
		return ok
	}
	all, errs := majority.Ask(ctx, len(q.nodes), ask, agreed)
	switch {
	case callers.Err() != nil:
		return election.View{}, callers.Err()
	case len(all) < need:
		return election.View{}, wire.Failure(name, wire.ErrUnreachable, &ballot.Denied{Need: need, Nodes: errs})
	}
	leader, _ := election.Agreed(all, need)
	return election.View{Leader: leader}, nil
}
