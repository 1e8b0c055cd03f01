package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// A failover may forget tenures: the process asks after each as soon as it suspects one.
func TestFailover(t *testing.T) {
	suspect := func(y *play) { y.p.renewAllSoon(y.now) }
	perform(t, []scene{
		{name: "a loss may not be alone", given: aHolds, beats: []beat{
			{enterAt("m", "b"), "lock #2"},
			{answer("lock", granted(1, 8)), "b gets 1"},
			{func(y *play) { y.p.Verify("n", y.now) }, "renew #1"},
			{answer("renew", wire.Answer{Word: wire.Lost}), "a ends: lost: gone"},
			{wait(time.Millisecond), "renew #2"},
		}},
		{name: "a subscription that breaks", given: aHoldsSubscribed, beats: []beat{
			{later(time.Second), ""},
			{broken, ""},
			{enterAt("m", "b"), "lock #2"},
			{answer("lock", granted(1, 8)), "b gets 1"},
			{wait(time.Millisecond), "renew #1; renew #2"},
		}},
		{name: "a renewal that may hang in the old connection", given: aHoldsSubscribed, beats: []beat{
			{sleep(5 * time.Second), "renew #1"},
			{fail("renew", errNetwork), ""},
			{wait(20 * time.Millisecond), "renew #1"},
			{enterAt("m", "b"), "lock #2 wait 0"},
			{answer("lock", granted(1, 8)), "b gets 1"},
			{wait(time.Millisecond), "renew #1; renew #2"},
		}},
		{name: "not again and again", given: aHoldsSubscribed, beats: []beat{
			{later(time.Second), ""},
			{suspect, ""},
			{wait(time.Millisecond), "renew #1"},
			{answer("renew", renewed()), ""},
			{suspect, ""},
			{wait(498 * time.Millisecond), ""},
			{wait(2 * time.Millisecond), "renew #1"},
		}},
		{name: "an id of ours that has come back", settings: Settings{Owner: "host:7"}, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", released()), "release of a: ok"},
			{enter("b"), "lock #2"},
			{answer("lock", granted(9, 8)), "b gets 9"},
			{func(y *play) { y.p.Verify("n", y.now) }, "renew #2"},
			{func(y *play) { answer("renew", wire.Answer{Word: wire.Lost, Holder: y.id("#1")})(y) }, "cancel #1; b ends: lost: taken"},
		}},
	})
}
