package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// ErrQuorum means that the stores do not form the quorum of the quorum-id, or return a
// permanent error. A [*QuorumError] has the error of each node.
var ErrQuorum = errors.New("holdfast: no such quorum")

// QuorumError has the reason of each node that gave no vote.
type QuorumError struct {
	Need  int     // number of nodes in a majority
	Nodes []error // in the order of the stores; nil if the node answered
}

func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d nodes must vote", e.Need, len(e.Nodes))
	for i, err := range e.Nodes {
		if err != nil {
			fmt.Fprintf(&b, "; node %d: %v", i+1, err)
		}
	}
	return b.String()
}

// sitsOut is a node that was restarted and gives no vote yet.
type sitsOut struct{ left time.Duration }

func (e *sitsOut) Error() string {
	return fmt.Sprintf("was restarted or joined a short time ago and votes in %v", e.left.Round(time.Second))
}

// denial is what keeps a node from voting, or nil if it has answered; final if
// that will not pass by itself.
func (q *quorum) denial(a wire.Answer, err error) (final bool, denied error) {
	switch {
	case err != nil:
		return !wire.Transient(err), wire.WithoutContext(err)
	case a.Word == "sits out":
		return false, &sitsOut{a.PTTL}
	case a.Word == "no member":
		return true, &wire.NotMember{Want: q.id, Mark: a.Mark}
	}
	return false, nil
}

// sameServer is a node that is another one under a second address.
type sameServer struct{ number int }

func (e *sameServer) Error() string {
	return fmt.Sprintf("is the same server as node %d", e.number)
}
