package machine

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// What is known of a holder gets older, but a key without an expiry stays one.
func TestHeldAgesButForNoExpiry(t *testing.T) {
	c, _ := newTestClient(Settings{})
	for pttl, want := range map[time.Duration]time.Duration{
		-time.Millisecond: -time.Millisecond,
		time.Second:       0,
		time.Minute:       58 * time.Second,
	} {
		for _, queued := range []bool{false, true} {
			n := &Name{client: c, Text: "n", Kind: c.defaultKind, seen: lastSeen{known: true, queued: queued, holder: "x", pttl: pttl, at: clock.Instant(time.Second)}}
			err := n.seen.held(n.Text, clock.Instant(3*time.Second))
			if held, ok := errors.AsType[*Held](err); !ok || held.Remaining != want {
				t.Errorf("pttl %v, queued %v: %+v, want that %v remain", pttl, queued, err, want)
			}
		}
	}
}
