package rueidisstore

import (
	"slices"
	"testing"

	"github.com/redis/rueidis"
)

// unreachable is a client of a Cluster of which no node answers.
type unreachable struct{ rueidis.Client }

func (unreachable) Nodes() map[string]rueidis.Client { return nil }

// While no node says where the slots are, the last answer holds. Without one each
// subscription would get a connection of its own: thousands, when an outage of the network
// has ended all of them.
func TestSlotsAreKept(t *testing.T) {
	want := []slotRange{{0, 16383, "127.0.0.1:1"}}
	s := &slots{ranges: slices.Clone(want)}
	if got := s.current(t.Context(), unreachable{}); !slices.Equal(got, want) {
		t.Errorf("got %v, want the last answer, %v", got, want)
	}
}
