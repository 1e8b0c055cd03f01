package ballot

import (
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// voteState is the state of one node in one try.
type voteState int

// The states of a vote.
const (
	pending voteState = iota // lock was sent, and is not answered
	granted                  // the lock key is ours
	raising                  // it is ours with a lower token than T; raise was sent
	counts                   // it is ours, and the tokens from T on are reserved
	against                  // the lock key is another's, or the node may not vote
	failed                   // unknown: an error
)

// vote is what one node has answered in one try.
type vote struct {
	state  voteState
	token  int64 // of its grant
	answer wire.Answer
	err    error
}

// votes are the votes of all nodes in one try, by the number of the node. Two nodes with the same run id
// are one server, and count once. docs/quorum.md has the protocol, with T, the token of the
// majority.
type votes struct {
	need  int   // a majority
	token int64 // T; 0 until a majority has granted
	of    []vote
}

// newVotes returns the votes of n nodes that have not answered yet. need is a majority.
func newVotes(n, need int) votes { return votes{need: need, of: make([]vote, n)} }

// take notes the answer of node i to lock. It returns the nodes to which raise must be sent:
// they must reserve tokens from T on.
func (v *votes) take(i int, a wire.Answer, err error) (raise []int) {
	vote := &v.of[i]
	vote.answer, vote.err = a, err
	switch {
	case err != nil:
		vote.state = failed
		if _, refused := wire.AsServerError(err); refused {
			vote.state = against
		}
	case a.Word == wire.Granted:
		vote.state, vote.token = granted, a.Base
		return v.granted(i)
	default:
		vote.state = against
	}
	return nil
}

// granted counts a grant. T is the largest token of the first majority. A node that gave a
// lower one must reserve from T.
func (v *votes) granted(i int) (raise []int) {
	if v.token > 0 {
		return v.count(nil, i)
	}
	if v.number(granted) < v.need {
		return nil
	}
	for _, o := range v.of {
		if o.state == granted {
			v.token = max(v.token, o.token)
		}
	}
	for i := range v.of {
		if v.of[i].state == granted {
			raise = v.count(raise, i)
		}
	}
	return raise
}

// count makes a node that granted count for T. A node that gave a higher token cannot count: it
// may have given T to another client before.
func (v *votes) count(raise []int, i int) []int {
	vote := &v.of[i]
	switch {
	case vote.token == v.token:
		vote.state = counts
	case vote.token < v.token:
		vote.state = raising
		raise = append(raise, i)
	}
	return raise
}

// raised notes the answer of node i to raise.
func (v *votes) raised(i int, a wire.Answer, err error) {
	vote := &v.of[i]
	if err == nil && a.Word == wire.Raised {
		vote.state = counts
		vote.answer.Run = a.Run
		return
	}
	vote.state, vote.err = failed, err
}

// won reports whether a majority counts for T.
func (v *votes) won() bool { return v.token > 0 && v.number(counts) >= v.need }

// number returns how many servers are in one of these states.
func (v *votes) number(stands ...voteState) int {
	return majority.Distinct(len(v.of), func(i int) (string, bool) {
		for _, s := range stands {
			if v.of[i].state == s {
				return v.of[i].answer.Run, true
			}
		}
		return "", false
	})
}

// winnable reports whether a majority is still possible. inTime reports whether the try still waits
// for the answer of a node.
func (v *votes) winnable(inTime func(i int) bool) bool {
	may := v.number(granted, raising, counts)
	if v.token > 0 {
		may = v.number(raising, counts)
	}
	for i, vote := range v.of {
		if vote.state != pending && vote.state != raising {
			continue
		}
		switch in := inTime(i); {
		case in && vote.state == pending:
			may++
		case !in && vote.state == raising:
			may--
		}
	}
	return may >= v.need
}

// reasonKnown reports whether the votes show why there can be no majority: one holder has a
// majority, or the try waits for no other node that may name the holder. Errors come faster than
// answers: if two of five nodes are down, the other three can still name the holder.
func (v *votes) reasonKnown(inTime func(i int) bool) bool {
	if _, most := v.holder(); most >= v.need {
		return true
	}
	for i, vote := range v.of {
		if vote.state == pending && inTime(i) {
			return false
		}
	}
	return true
}

// holder returns an answer that names the holder with the most votes, and their number. held is
// nil if no node names a holder.
func (v *votes) holder() (held *wire.Answer, most int) {
	for i := range v.of {
		a := &v.of[i].answer
		if v.of[i].state != against || a.Word != wire.Held {
			continue
		}
		whose := keyspace.WithoutToken(a.Holder)
		n := majority.Distinct(len(v.of), func(k int) (string, bool) {
			o := &v.of[k].answer
			return o.Run, v.of[k].state == against && o.Word == wire.Held && keyspace.WithoutToken(o.Holder) == whose
		})
		if n > most || n == most && held != nil && a.PTTL > held.PTTL {
			held, most = a, n
		}
	}
	return held, most
}

// denied returns for each node why it did not vote, or nil if it answered. down is the number
// of errors, and refusing the number of those that do not pass by themselves. id is the
// quorum-id.
func (v *votes) denied(id string) (errs []error, down, refusing int) {
	errs = make([]error, len(v.of))
	for i, vote := range v.of {
		final, err := denial(id, vote.answer, vote.err)
		if vote.state == pending {
			err = wire.ErrNoAnswer
		}
		errs[i] = err
		if err != nil {
			down++
		}
		if final {
			refusing++
		}
	}
	return errs, down, refusing
}

// tooFewServers reports whether the nodes that answered are fewer servers than a majority. If so, it
// notes in errs which nodes are the same server as an earlier one.
func (v *votes) tooFewServers(errs []error) bool {
	answered := func(i int) (string, bool) { return v.of[i].answer.Run, v.of[i].answer.Run != "" }
	if majority.Distinct(len(v.of), answered) >= v.need {
		return false
	}
	for i := range v.of {
		for k := range i {
			if run, ok := answered(i); ok && run == v.of[k].answer.Run {
				errs[i] = &sameServer{k + 1}
			}
		}
	}
	return true
}
