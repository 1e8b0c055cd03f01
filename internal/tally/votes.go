// Package tally counts what the nodes of a quorum have answered: the votes of one try to win a
// name ([Votes]), and the answers to one renewal ([Answers]). Two nodes with the same run id
// are one server, and count once. It does no I/O and reads no clock. docs/quorum.md has the
// protocol, with T, the token of the majority.
package tally

import (
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Stand is where a node stands in one try.
type Stand int

// Where a node can stand.
const (
	Pending Stand = iota // lock was sent, and is not answered
	Granted              // the lock key is ours
	Raising              // it is ours with a lower token than T; raise was sent
	Counts               // it is ours, and the tokens from T on are reserved
	Against              // the lock key is another's, or the node may not vote
	Failed               // unknown: an error
)

// Vote is what is known of one node.
type Vote struct {
	Stand  Stand
	Token  int64 // of its grant
	Answer wire.Answer
	Err    error
}

// Votes are what is known of all nodes in one try, by their number.
type Votes struct {
	Need  int   // a majority
	Token int64 // T; 0 until a majority has granted
	Of    []Vote
}

// New returns the votes of n nodes that have not answered yet. need is a majority.
func New(n, need int) Votes { return Votes{Need: need, Of: make([]Vote, n)} }

// Take notes the answer of node i to lock. It returns the nodes to which raise must be sent:
// they must reserve tokens from T on.
func (v *Votes) Take(i int, a wire.Answer, err error) (raise []int) {
	vote := &v.Of[i]
	vote.Answer, vote.Err = a, err
	switch {
	case err != nil:
		vote.Stand = Failed
		if _, refused := wire.AsServerError(err); refused {
			vote.Stand = Against
		}
	case a.Word == "granted":
		vote.Stand, vote.Token = Granted, a.Base
		return v.granted(i)
	default:
		vote.Stand = Against
	}
	return nil
}

// granted counts a grant. T is the largest token of the first majority. A node that gave a
// lower one must reserve from T.
func (v *Votes) granted(i int) (raise []int) {
	if v.Token > 0 {
		return v.count(nil, i)
	}
	if v.Number(Granted) < v.Need {
		return nil
	}
	for _, o := range v.Of {
		if o.Stand == Granted {
			v.Token = max(v.Token, o.Token)
		}
	}
	for i := range v.Of {
		if v.Of[i].Stand == Granted {
			raise = v.count(raise, i)
		}
	}
	return raise
}

// count lets a node that granted count for T. A node that gave a higher token cannot count: it
// may have given T to another client before.
func (v *Votes) count(raise []int, i int) []int {
	vote := &v.Of[i]
	switch {
	case vote.Token == v.Token:
		vote.Stand = Counts
	case vote.Token < v.Token:
		vote.Stand = Raising
		raise = append(raise, i)
	}
	return raise
}

// Raised notes the answer of node i to raise.
func (v *Votes) Raised(i int, a wire.Answer, err error) {
	vote := &v.Of[i]
	if err == nil && a.Word == "raised" {
		vote.Stand = Counts
		vote.Answer.Run = a.Run
		return
	}
	vote.Stand, vote.Err = Failed, err
}

// Won reports whether a majority counts for T.
func (v *Votes) Won() bool { return v.Token > 0 && v.Number(Counts) >= v.Need }

// Number returns how many servers have one of these stands.
func (v *Votes) Number(stands ...Stand) int {
	return majority.Distinct(len(v.Of), func(i int) (string, bool) {
		for _, s := range stands {
			if v.Of[i].Stand == s {
				return v.Of[i].Answer.Run, true
			}
		}
		return "", false
	})
}

// Hopeful reports whether a majority is still possible. inTime reports whether the answer of a
// node is still waited for.
func (v *Votes) Hopeful(inTime func(i int) bool) bool {
	may := v.Number(Granted, Raising, Counts)
	if v.Token > 0 {
		may = v.Number(Raising, Counts)
	}
	for i, vote := range v.Of {
		if vote.Stand != Pending && vote.Stand != Raising {
			continue
		}
		switch in := inTime(i); {
		case in && vote.Stand == Pending:
			may++
		case !in && vote.Stand == Raising:
			may--
		}
	}
	return may >= v.Need
}

// Plain reports whether the reason is known why there can be no majority: another client has
// one, or no node is left that may still name one. Errors come faster than answers: if two of
// five nodes are down, the holder of the name is reachable all the same.
func (v *Votes) Plain(inTime func(i int) bool) bool {
	if _, most := v.Holder(); most >= v.Need {
		return true
	}
	for i, vote := range v.Of {
		if vote.Stand == Pending && inTime(i) {
			return false
		}
	}
	return true
}

// Holder returns an answer that names the holder with the most votes, and their number. held is
// nil if no node names a holder.
func (v *Votes) Holder() (held *wire.Answer, most int) {
	for i := range v.Of {
		a := &v.Of[i].Answer
		if v.Of[i].Stand != Against || a.Word != "held" {
			continue
		}
		whose := keyspace.WithoutToken(a.Holder)
		n := majority.Distinct(len(v.Of), func(k int) (string, bool) {
			o := &v.Of[k].Answer
			return o.Run, v.Of[k].Stand == Against && o.Word == "held" && keyspace.WithoutToken(o.Holder) == whose
		})
		if n > most || n == most && held != nil && a.PTTL > held.PTTL {
			held, most = a, n
		}
	}
	return held, most
}

// Denied returns for each node why it did not vote, or nil if it answered. down is the number
// of errors, and refusing the number of those that do not pass by themselves. id is the
// quorum-id.
func (v *Votes) Denied(id string) (errs []error, down, refusing int) {
	errs = make([]error, len(v.Of))
	for i, vote := range v.Of {
		final, err := denial(id, vote.Answer, vote.Err)
		if vote.Stand == Pending {
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

// TooFewServers reports whether the nodes that answered are fewer servers than a majority. If so, it
// notes in errs which nodes are the same server as an earlier one.
func (v *Votes) TooFewServers(errs []error) bool {
	answered := func(i int) (string, bool) { return v.Of[i].Answer.Run, v.Of[i].Answer.Run != "" }
	if majority.Distinct(len(v.Of), answered) >= v.Need {
		return false
	}
	for i := range v.Of {
		for k := range i {
			if run, ok := answered(i); ok && run == v.Of[k].Answer.Run {
				errs[i] = &sameServer{k + 1}
			}
		}
	}
	return true
}
