package tally

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Answers are what the nodes answered to one renewal, by their number.
type Answers struct {
	Of   []wire.Answer
	Came int // answers and errors
	errs []error
}

// NewAnswers returns those of n nodes, of which none has come.
func NewAnswers(n int) Answers { return Answers{Of: make([]wire.Answer, n), errs: make([]error, n)} }

// Take notes one.
func (s *Answers) Take(i int, a wire.Answer, err error) {
	s.Of[i], s.errs[i] = a, err
	s.Came++
}

// Number is how many servers said the word.
func (s *Answers) Number(word string) int {
	return majority.Distinct(len(s.Of), func(i int) (string, bool) { return s.Of[i].Run, s.Of[i].Word == word })
}

// Least is how long all nodes have the name of those that say that it is ours, and at most
// longest.
func (s *Answers) Least(longest time.Duration) time.Duration {
	least := longest
	for _, a := range s.Of {
		if a.Word == "ours" && a.PTTL >= 0 { // else somebody took the expiry away
			least = min(least, a.PTTL)
		}
	}
	return least
}

// Taker is who has the name instead, if anybody.
func (s *Answers) Taker() string {
	for _, a := range s.Of {
		if a.Word == "lost" && a.Holder != "" {
			return a.Holder
		}
	}
	return ""
}

// Denied is why each node did not renew. id is the quorum-id.
func (s *Answers) Denied(id string) []error {
	errs := make([]error, len(s.Of))
	for i, a := range s.Of {
		_, errs[i] = denial(id, a, s.errs[i])
		if a.Word == "lost" {
			errs[i] = errors.New("does not have the lock")
		}
	}
	return errs
}

// denial is what keeps a node from voting, or nil if it has answered; final if
// that will not pass by itself.
func denial(id string, a wire.Answer, err error) (final bool, denied error) {
	switch {
	case err != nil:
		return !wire.Transient(err), wire.WithoutContext(err)
	case a.Word == "sits out":
		return false, &sitsOut{a.PTTL}
	case a.Word == "no member":
		return true, &wire.NotMember{Want: id, Mark: a.Mark}
	}
	return false, nil
}

// sitsOut is a node that was restarted and gives no vote yet.
type sitsOut struct{ left time.Duration }

func (e *sitsOut) Error() string {
	return fmt.Sprintf("was restarted or joined a short time ago and votes in %v", e.left.Round(time.Second))
}

// sameServer is a node that is another one under a second address.
type sameServer struct{ number int }

func (e *sameServer) Error() string {
	return fmt.Sprintf("is the same server as node %d", e.number)
}
