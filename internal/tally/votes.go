// Package tally counts what the nodes of a quorum have answered: the votes of one try to win a
// name ([Votes]), and the answers to one renewal ([Answers]). Two nodes with the same run are
// one server, and count once. It asks nobody and knows no time. docs/quorum.md has the protocol.
package tally

import (
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Stand is where a node stands in one try.
type Stand int

// A node stands so:
const (
	Pending Stand = iota // lock is on its way
	Granted              // L is ours there
	Raising              // so it is, with a lower token than T; raise is on its way
	Counts               // so it is, and the tokens from T on are reserved
	Against              // L is another's, or it may not vote
	Failed               // nobody knows
)

// Vote is what is known of one node.
type Vote struct {
	Stand  Stand
	Token  int64 // that it gave
	Answer wire.Answer
	Err    error
}

// Votes are what is known of all nodes in one try, by their number.
type Votes struct {
	Need  int   // a majority
	Token int64 // T; 0 until a majority has granted
	Of    []Vote
}

// New returns the votes of n nodes that are asked now.
func New(n, need int) Votes { return Votes{Need: need, Of: make([]Vote, n)} }

// Take notes the answer of a node to lock. It returns the nodes that are to be asked to
// reserve tokens from T on.
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

// granted counts a grant: T is the largest token of the first majority, and who
// gave a lower one is asked to reserve from T.
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

// count lets a node that granted count for T. One that gave a higher token can
// not: it may have given T to another before.
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

// Raised notes the answer of a node to raise.
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

// Number is how many servers stand so.
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

// Hopeful reports whether a majority can still be had. inTime reports whether the answer of a
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

// Plain reports whether it is known why no majority can be had: one other has it,
// or nobody is left who may still say so. Errors come faster than answers: two
// of five that are down do not make the name's holder unreachable.
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

// Holder is the answer of a node that names who has most votes, and how many.
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

// Denied is what keeps each node from voting, nil for one that has answered; how many that are,
// and for how many of them it will not pass by itself. id is the quorum-id.
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

// OnePlace reports whether the nodes that answered are fewer servers than a majority. Then it
// notes in errs which of them are one.
func (v *Votes) OnePlace(errs []error) bool {
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
