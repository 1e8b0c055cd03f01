package holdfast

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// ErrQuorum means that the stores do not form the quorum of the quorum-id, or return a
// permanent error. A [*QuorumError] has the error of each node.
var ErrQuorum = wire.ErrQuorum

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
