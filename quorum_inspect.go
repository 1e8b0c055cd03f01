package holdfast

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// inspect asks all nodes what stands in the keys of a name. Holder is who has a
// majority; votes of a try that goes on are nobody's. Nodes that do not answer
// are waited for only until that is known.
func (q *quorum) inspect(callers context.Context, name string, k *keyspace.Keys) (*State, error) {
	if callers.Err() != nil {
		return nil, callers.Err()
	}
	ctx, cancel := context.WithTimeout(callers, q.c.options.patience())
	defer cancel()
	type result struct {
		node  int
		state *State
		err   error
	}
	came := make(chan result, len(q.nodes))
	for i, n := range q.nodes {
		go func() {
			ctx, cancel := call.ForDriver(ctx, q.c.ctx)
			defer cancel()
			reply, err := n.eval(ctx, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{strconv.Itoa(listed), ""}})
			var s *State
			var given int64
			if err == nil {
				given = tokenGiven(reply)
				s, err = q.c.decodeState(name, bareReply(reply))
			}
			if err == nil {
				s.Key, s.quorum = k.Lock(), true
				if given+tokensOfTurns-1 == s.Token {
					s.term = given
				}
			}
			came <- result{i, s, err}
		}()
	}
	var states []*State
	denied := &QuorumError{Need: q.need, Nodes: make([]error, len(q.nodes))}
	var enough <-chan time.Time
	for waiting := len(q.nodes); waiting > 0; {
		select {
		case r := <-came:
			waiting--
			if denied.Nodes[r.node] = wire.WithoutContext(r.err); r.err == nil {
				states = append(states, r.state)
			}
			if s := q.agreed(states); s != nil {
				return s, nil
			}
			if len(states) == q.need {
				enough = time.After(straggler)
			}
		case <-enough:
			waiting = 0
		case <-ctx.Done():
			waiting = 0
		}
	}
	switch {
	case callers.Err() != nil:
		return nil, callers.Err()
	case len(states) < q.need:
		return nil, wire.Failure(name, ErrUnreachable, denied)
	}
	s := *states[0]
	s.Holder, s.Token = nil, newest(states)
	return &s, nil
}

// straggler is how long the rest is waited for when a majority has answered.
const straggler = 200 * time.Millisecond

// agreed is the state of those among states that name one holder, if they are a
// majority.
func (q *quorum) agreed(states []*State) *State {
	for _, s := range states {
		n := 0
		for _, o := range states {
			if s.Holder != nil && o.Holder != nil && s.Holder.Hash == o.Holder.Hash {
				n++
			}
		}
		if n >= q.need {
			agreed := *s
			agreed.Token, agreed.term = newest(states), q.termOf(s, states)
			return &agreed
		}
	}
	return nil
}

// termOf is the token with which a holder won, if that can be told. A node that gave it
// less has reserved more by now, if it counts: raise has moved its F, and every renewal does.
// So a majority that gave one token, and has reserved no more since, has among them one that
// counts, and it counts for that token.
func (q *quorum) termOf(s *State, states []*State) int64 {
	n := 0
	for _, o := range states {
		if o.Holder != nil && o.Holder.Hash == s.Holder.Hash && o.term > 0 && o.term == s.term {
			n++
		}
	}
	if n < q.need {
		return 0
	}
	return s.term
}

func newest(states []*State) (token int64) {
	for _, s := range states {
		token = max(token, s.Token)
	}
	return token
}

// tokenGiven is the token that a node gave the holder; 0: there is none.
func tokenGiven(reply []string) int64 {
	if len(reply) > 2 {
		return keyspace.TokenOf(reply[2])
	}
	return 0
}

// bareReply takes the node's token off the holder, which differs from node to
// node.
func bareReply(reply []string) []string {
	if len(reply) > 2 {
		reply[2] = keyspace.WithoutToken(reply[2])
	}
	return reply
}

// names are those that any of a majority knows. All nodes are asked side by side, and
// the rest is not waited for when a majority has told all that it knows.
func (q *quorum) names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		told := make(chan found)
		for i, n := range q.nodes {
			go q.scan(ctx, i, n, prefix, told)
		}
		seen := make(map[string]struct{})
		denied := &QuorumError{Need: q.need, Nodes: make([]error, len(q.nodes))}
		scanned := 0
		var enough <-chan time.Time
		for left := len(q.nodes); left > 0; {
			var f found
			select {
			case f = <-told:
			case <-enough:
				return
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			}
			if !f.end {
				if _, twice := seen[f.name]; !twice {
					seen[f.name] = struct{}{}
					if !yield(f.name, nil) {
						return
					}
				}
				continue
			}
			left--
			denied.Nodes[f.node] = f.err
			if f.err == nil {
				scanned++
			}
			if scanned == q.need && enough == nil {
				enough = time.After(straggler)
			}
		}
		if scanned < q.need {
			yield("", wire.Failure(fmt.Sprintf("list of names of %s", q.id), ErrUnreachable, denied))
		}
	}
}

// found is a name that a node knows, or that it knows no more.
type found struct {
	name string
	end  bool
	node int
	err  error // at the end
}

// scan tells the names of a node.
func (q *quorum) scan(ctx context.Context, i int, n *node, prefix string, told chan<- found) {
	tell := func(f found) bool {
		select {
		case told <- f:
			return true
		case <-ctx.Done():
			return false
		}
	}
	end := found{end: true, node: i}
	for key, err := range n.store.Scan(ctx, keyspace.Fences) {
		if err != nil {
			end.err = err
			break
		}
		name, ok := keyspace.NameOfFence(q.c.options.Prefix, key)
		if ok && strings.HasPrefix(name, prefix) && !tell(found{name: name}) {
			return
		}
	}
	tell(end)
}
