package ballot

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// answers are the answers of the nodes to one renewal, by the number of the node.
type answers struct {
	of      []wire.Answer
	arrived int // how many answers and errors
	errs    []error
}

// newAnswers returns the answers of n nodes that have not answered yet.
func newAnswers(n int) answers { return answers{of: make([]wire.Answer, n), errs: make([]error, n)} }

// take notes the answer or the error of node i.
func (s *answers) take(i int, a wire.Answer, err error) {
	s.of[i], s.errs[i] = a, err
	s.arrived++
}

// number returns how many servers answered with this word.
func (s *answers) number(word wire.Word) int {
	return majority.Distinct(len(s.of), func(i int) (string, bool) { return s.of[i].Run, s.of[i].Word == word })
}

// remaining returns for how long all nodes that answered "ours" keep the name for us, at most
// longest.
func (s *answers) remaining(longest time.Duration) time.Duration {
	least := longest
	for _, a := range s.of {
		if a.Word == wire.Ours && a.PTTL >= 0 { // else another client removed the expiry
			least = min(least, a.PTTL)
		}
	}
	return least
}

// otherHolder returns the id that has the name instead, or "".
func (s *answers) otherHolder() string {
	for _, a := range s.of {
		if a.Word == wire.Lost && a.Holder != "" {
			return a.Holder
		}
	}
	return ""
}

// denied returns why each node did not renew. id is the quorum-id.
func (s *answers) denied(id string) []error {
	errs := make([]error, len(s.of))
	for i, a := range s.of {
		_, errs[i] = denial(id, a, s.errs[i])
		if a.Word == wire.Lost {
			errs[i] = errors.New("does not have the lock")
		}
	}
	return errs
}

// denial returns why a node did not vote, or nil if it has answered. final reports whether the
// reason does not pass by itself.
func denial(id string, a wire.Answer, err error) (final bool, denied error) {
	switch {
	case err != nil:
		return !wire.Transient(err), wire.WithoutContext(err)
	case a.Word == wire.NoVote:
		return false, &notVoting{a.PTTL}
	case a.Word == wire.NoMember:
		return true, &wire.NotMember{Want: id, Mark: a.Mark}
	}
	return false, nil
}

// notVoting is the error of a node that was restarted and does not vote yet.
type notVoting struct{ left time.Duration }

func (e *notVoting) Error() string {
	return fmt.Sprintf("was restarted or joined a short time ago and votes in %v", e.left.Round(time.Second))
}

// sameServer is the error of a node that is the same server as another node.
type sameServer struct{ number int }

func (e *sameServer) Error() string {
	return fmt.Sprintf("is the same server as node %d", e.number)
}
