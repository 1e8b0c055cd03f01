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

// quorum is the host of a process whose names are locked on a quorum. What the process sends it
// takes to the nodes: what is asked of them, and which must have answered, is decided in its
// ballot. Guarded by the engine's mutex.
type quorum struct {
	machine.Host // for all else
	e            *Engine
	nodes        []*node
	ballot       *ballot.Ballot
	timer        clock.Timer // of what is due in the ballot
}

// node is one master of a quorum. Guarded by the engine's mutex, except openCalls.
type node struct {
	quorum    *quorum
	number    int
	store     driver.Store
	openCalls atomic.Int64 // calls in the driver
}

// newQuorum makes an engine one of a quorum.
func newQuorum(e *Engine, id string, stores []driver.Store) *quorum {
	q := &quorum{Host: e.process.Host, e: e}
	q.ballot = ballot.New(ballot.Settings{ID: id, Nodes: len(stores), Attempt: e.process.Attempt(), Random: e.process.Jitter}, nodesHost{q})
	q.timer = clock.Timer{Fire: q.tick}
	e.process.Host, e.servers, e.batchers = q, q, nil
	for i, store := range stores {
		e.batchers = append(e.batchers, e.newBatcher())
		q.nodes = append(q.nodes, &node{quorum: q, number: i, store: store})
	}
	return q
}

// Send asks the ballot. It answers each try in time, so the process itself gives none up.
func (q *quorum) Send(r *machine.Request) {
	a := &ballot.Request{ID: r.Call.Args[0], Place: q.placeOf(r.Local), Sent: r.Sent, Attempt: r.Attempt, For: r}
	r.Unsent = false
	switch r.Call.Script {
	case script.Lock:
		a.Kind, a.Waits, a.Wall = ballot.Lock, r.Waits, q.e.process.Wall()
		r.Attempt, r.OnAnswer = time.Hour, (*machine.Request).TryAnswered
	case script.Renew:
		a.Kind = ballot.Renew
	case script.Held:
		a.Kind = ballot.Held
	case script.Unlock:
		if a.Kind = ballot.Unlock; r.Tenure == nil { // in the background
			a.Kind, a.Owned = ballot.Undo, true
		}
	case script.Cancel:
		a.Kind = ballot.Undo
	default:
		panic("holdfast: a quorum was asked for " + r.Call.Script.Name)
	}
	q.ballot.Ask(a)
	q.arm(r.Sent)
}

func (q *quorum) placeOf(n *machine.Name) *ballot.Place {
	if n.Place == nil {
		n.Place = ballot.NewPlace(n.Name, n.Keys, n.Kind.TTL)
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
		q.e.process.Schedule.Set(&q.timer, max(next, now), now)
		return
	}
	q.e.process.Schedule.Stop(&q.timer)
}

// nodesHost does what the ballot wants done.
type nodesHost struct{ *quorum }

// Send implements ballot.Host.
func (q nodesHost) Send(c *ballot.Call) {
	q.Host.Send(&machine.Request{Call: c.Call, Part: c, Sent: c.Sent, Attempt: c.Attempt})
}

// Answer implements ballot.Host.
func (nodesHost) Answer(asked *ballot.Request, a wire.Answer, err error, now clock.Instant) {
	r := asked.For.(*machine.Request)
	r.OnAnswer(r, a, err, now)
}

// Failed implements ballot.Host.
func (q nodesHost) Failed(name string, c *ballot.Call, err error) {
	q.Warn("holdfast: cleanup failed; the remaining keys expire by themselves", "name", name, "script", c.Script.Name, "error", err)
}

func (q *quorum) NotBefore(name string) clock.Instant { return q.ballot.NotBefore(name) }

func (q *quorum) dropped(r *machine.Request) { q.ballot.Dropped(r.Part) }

func (q *quorum) close(now clock.Instant) { q.ballot.Close(now) }

func (q *quorum) awaited(waited time.Duration) int { return q.ballot.Busy(waited) }

// runCleanups makes what Close has to do on each node, side by side: what the ballot says is owed. It
// returns when a majority has and the others had their time for it, or ctx ends: what stays
// behind on a minority would keep the name from a quorum that lacks another node, for a ttl.
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

// closeGrace is how long Close waits for these nodes when a majority has confirmed. For one that is
// silent it has 20 ms: enough to send what that node is owed, because what is not sent when
// Close returns is never sent.
func (q *quorum) closeGrace(nodes map[int]bool) (longest time.Duration) {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	for i := range nodes {
		longest = max(longest, q.ballot.Grace(i, longestRemoval))
	}
	return longest
}

// answered: a quorum has nodes that fail and nodes that answer all the time, so an error says nothing
// about the others.
func (q *quorum) answered(r *machine.Request, a wire.Answer, err error) {
	now := q.e.clock.Exact()
	if err == nil {
		q.e.process.LastAnswer = now
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

// eval runs a call. A node that hangs must not collect goroutines.
func (n *node) eval(ctx context.Context, call driver.Call) ([]string, error) {
	defer n.openCalls.Add(-1)
	if n.hangs() {
		return nil, ballot.ErrNotSent
	}
	return n.store.Eval(ctx, call)
}

// evalAll is eval for calls that travel together.
func (n *node) evalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	defer n.openCalls.Add(-1)
	if n.hangs() {
		return slices.Repeat([]driver.Result{{Err: ballot.ErrNotSent}}, len(calls))
	}
	return n.store.EvalAll(ctx, calls)
}

// hangs counts one more call in the driver, and reports whether too many hang there to begin
// it.
func (n *node) hangs() bool {
	return n.openCalls.Add(1) > ballot.MostCalls && n.quorum.ballot.Silent(n.number)
}

// leader returns the leader that a majority of the nodes has, if there is one.
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
