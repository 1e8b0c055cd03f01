package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Rule 4: not held is released, and a new id is asked for.
func TestRuleNotHeldIsReleased(t *testing.T) {
	once := Settings{SendsOnce: func() bool { return true }}
	permits := func(c *Client) *Kind { return SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Permits, 3, 10) }
	notHeld := wire.Answer{Word: wire.NotHeld}
	taken := wire.Answer{Word: wire.NotHeld, Holder: another}
	perform(t, []scene{
		{name: "a driver may have sent it twice", given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", notHeld), "release of a: ok"},
		}},
		{name: "one that sends once proves that it is gone", settings: once, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", notHeld), "release of a: lost: gone"},
		}},
		{name: "or taken", settings: once, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", taken), "release of a: lost: taken"},
		}},
		{name: "not if an earlier unlock may have run", settings: once, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{fail("unlock", errNetwork), ""},
			{wait(20 * time.Millisecond), "unlock #1"},
			{answer("unlock", notHeld), "release of a: ok"},
		}},
		{name: "nor after the deadline", settings: once, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{later(14900 * time.Millisecond), ""},
			{answer("unlock", taken), "release of a: ok"},
		}},
		{name: "after \"again\" it is sent once more", settings: once, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", wire.Answer{Word: wire.Again}), "unlock #1"},
			{answer("unlock", notHeld), "release of a: lost: gone"},
		}},
		{name: "but shared_unlock has released before it says so", settings: once, kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{release("a"), "a ends: released; shared_unlock #1"},
			{answer("shared_unlock", wire.Answer{Word: wire.Again}), "shared_unlock #1"},
			{answer("shared_unlock", notHeld), "release of a: ok"},
		}},
		{name: "nor if a cancel may have released it", settings: once, beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{release("a"), "a ends: released; unlock #1"},
			{answer("lock", inQueue(0)), "cancel #1"},
			{answer("unlock", notHeld), "release of a: ok"},
		}},
		{name: "the new id was not queued", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{answer("unlock", taken), "release of a: ok; lock #2 wait 0"},
		}},
		{name: "the new id was granted", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{answer("unlock", granted(9, 8)), "release of a: ok; b gets 9"},
		}},
		{name: "without any answer it is unknown", given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{wait(2 * time.Second), "release of a: unknown"},
			{answer("unlock", released()), ""},
		}},
	})
}
