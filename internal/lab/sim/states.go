package sim

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
)

// told counts what a client says of itself.
func (s *Story) told(e holdfast.Event) {
	what := strings.TrimPrefix(fmt.Sprintf("%T", e), "holdfast.")
	switch e := e.(type) {
	case holdfast.Lost:
		what += ", " + string(e.Cause)
	case holdfast.Queued:
		what += map[bool]string{true: ", head", false: ", behind"}[e.Position == 0]
	}
	s.Tally.State(what)
}
