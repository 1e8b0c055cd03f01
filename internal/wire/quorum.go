package wire

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// NotMember is the error of a node that is not, or no longer, a member of the quorum
// Want. Mark is what its marker says.
type NotMember struct{ Want, Mark string }

func (e *NotMember) Error() string {
	if e.Mark == "" {
		return "has no marker: it is new, or lost its data (run 'holdfast quorum init' or 'holdfast quorum replace')"
	}
	if _, successor, _ := strings.Cut(e.Mark, ">"); successor != "" {
		return fmt.Sprintf("has left %s for %s (see 'holdfast quorum status')", keyspace.Shorten(e.Want), keyspace.Shorten(successor))
	}
	return fmt.Sprintf("belongs to quorum %s, not to %s (see 'holdfast quorum status')", keyspace.Shorten(e.Mark), keyspace.Shorten(e.Want))
}
