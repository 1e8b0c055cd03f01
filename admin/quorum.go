package admin

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var _ Reader = (*Quorum)(nil)

// Quorum inspects names on a quorum. A holder there cannot be revoked. Package quorum
// administers the nodes.
type Quorum struct {
	id      string
	nodes   []*call.Caller
	options Options
	own     string
}

// NewQuorum returns a Quorum on the stores of a [holdfast.NewQuorum]. It panics if a
// store is nil or the prefix is not valid. The id is the quorum-id; it may be empty.
func NewQuorum(id string, options *Options, stores ...driver.Store) *Quorum {
	q := &Quorum{id: id, options: options.withDefaults()}
	for i, s := range stores {
		if s == nil {
			panic(fmt.Sprintf("holdfast: admin.NewQuorum: store %d is nil", i+1))
		}
		q.nodes = append(q.nodes, newCaller(s))
	}
	return q
}

// ID returns the quorum-id that NewQuorum was given. All processes of a quorum have the
// same one. The ID of a [holdfast.QuorumClient] is another thing: it identifies one client.
func (q *Quorum) ID() string { return q.id }

func (q *Quorum) need() int { return majority.Of(len(q.nodes)) }

// Inspect returns the state of a name: the holder that a majority knows, if there is
// one, and the newest token. If foreign values leave no majority, one of them is the holder.
// Waiters are not in it, because a quorum has no queue.
//
// Errors are those of [Admin.Inspect]. ErrUnreachable wraps a [holdfast.QuorumError] with
// the error of each node.
func (q *Quorum) Inspect(ctx context.Context, name string) (*State, error) {
	k, err := keysOf(q.options.Prefix, name)
	if err != nil {
		return nil, err
	}
	c := driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{strconv.Itoa(listed), ""}}
	ask := func(ctx context.Context, i int) (*State, error) {
		reply, err := q.nodes[i].Run(ctx, q.options.Timeout, c)
		if err != nil {
			return nil, wire.WithoutContext(err) // bounded has ended, the caller's context may not
		}
		w, err := wire.DecodeState(reply)
		if err != nil {
			return nil, err
		}
		w.Value = keyspace.WithoutToken(w.Value)
		s := newState(name, q.own, w)
		s.Key, s.Quorum = k.Lock(), true
		return s, nil
	}
	done := func(states []*State) bool { return q.agreed(states) != nil }
	bounded, cancel := context.WithTimeout(ctx, q.options.Timeout)
	defer cancel()
	states, errs := majority.Ask(bounded, len(q.nodes), ask, done)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(states) < q.need():
		return nil, unreachable(name, &holdfast.QuorumError{Need: q.need(), Nodes: errs})
	}
	if s := q.agreed(states); s != nil {
		return s, nil
	}
	s := *states[0]
	s.Holder, s.Token = q.foreign(states), newest(states)
	return &s, nil
}

// foreign returns a foreign holder if the nodes without a foreign value are no majority. The
// values may differ.
func (q *Quorum) foreign(states []*State) (holder *Holder) {
	nodes := 0
	for _, s := range states {
		if s.Holder != nil && s.Holder.Foreign {
			holder, nodes = s.Holder, nodes+1
		}
	}
	if nodes <= len(q.nodes)-q.need() {
		return nil
	}
	return holder
}

// agreed returns the state that a majority has the same holder in, or nil.
func (q *Quorum) agreed(states []*State) *State {
	for _, s := range states {
		n := 0
		for _, o := range states {
			if s.Holder != nil && o.Holder != nil && s.Holder.Hash == o.Holder.Hash {
				n++
			}
		}
		if n >= q.need() {
			agreed := *s
			agreed.Token = newest(states)
			return &agreed
		}
	}
	return nil
}

func newest(states []*State) (token int64) {
	for _, s := range states {
		token = max(token, s.Token)
	}
	return token
}

// Names is like [Admin.Names]. It yields every name that a majority of the nodes knows, and
// perhaps others. It scans the nodes at the same time.
func (q *Quorum) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		came := make(chan scanned)
		for i := range q.nodes {
			go q.scan(ctx, i, prefix, came)
		}
		seen := make(map[string]struct{})
		failed := &holdfast.QuorumError{Need: q.need(), Nodes: make([]error, len(q.nodes))}
		whole := 0
		var enough <-chan time.Time
		for left := len(q.nodes); left > 0; {
			var s scanned
			select {
			case s = <-came:
			case <-enough:
				return
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			}
			if !s.end {
				if _, twice := seen[s.name]; !twice {
					seen[s.name] = struct{}{}
					if !yield(s.name, nil) {
						return
					}
				}
				continue
			}
			left--
			if failed.Nodes[s.node] = s.err; s.err == nil {
				whole++
			}
			if whole == q.need() && enough == nil {
				enough = time.After(majority.Straggler)
			}
		}
		if whole < q.need() {
			yield("", unreachable("list of names", failed))
		}
	}
}

// scanned is a name that a node has, or the end of its list.
type scanned struct {
	name string
	end  bool
	node int
	err  error // at the end
}

func (q *Quorum) scan(ctx context.Context, i int, prefix string, came chan<- scanned) {
	send := func(s scanned) bool {
		select {
		case came <- s:
			return true
		case <-ctx.Done():
			return false
		}
	}
	end := scanned{end: true, node: i}
	for name, err := range (listing{q.nodes[i], &q.options, prefix}).names(ctx) {
		if err != nil {
			end.err = err
			break
		}
		if !send(scanned{name: name}) {
			return
		}
	}
	send(end)
}

// Survey is like [Admin.Survey].
func (q *Quorum) Survey(ctx context.Context, prefix string, limit int) (*Survey, error) {
	return survey(ctx, q, prefix, limit, q.surveyNames)
}

// OfQuorum is like Of for the client of a quorum.
func OfQuorum(client *holdfast.QuorumClient) *Quorum {
	q := NewQuorum(client.Quorum(), nil, client.Stores()...)
	q.options, q.own = Options{client.Prefix(), timeoutFor(client.TTL())}, client.ID()
	return q
}

// surveyNames inspects names, some at a time.
func (q *Quorum) surveyNames(ctx context.Context, names []Surveyed) {
	slots := make(chan struct{}, surveyAtOnce)
	var asking sync.WaitGroup
	for i := range names {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			state, err := q.Inspect(ctx, names[i].Name)
			if names[i].Err = err; err == nil {
				names[i].State = state
			}
		})
	}
	asking.Wait()
}
