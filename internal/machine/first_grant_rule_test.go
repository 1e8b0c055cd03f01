package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// Rule 2: the first grant begins, later ones prolong.
func TestRuleFirstGrantBegins(t *testing.T) {
	perform(t, []scene{
		{name: "an answer begins, and a push prolongs", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 1)), "a gets 1"},
			{grantPushed("#1", 2, 1, time.Millisecond), ""},
		}},
		{name: "a push begins, and an answer prolongs", given: aWaits, beats: []beat{
			{pushed(wire.PushMissed, "#1"), "lock #1 wait 70"},
			{grantPushed("#1", 1, 8, time.Millisecond), "a gets 1"},
			{answer("lock", granted(9, 8)), ""},
			{sleep(3 * time.Second), ""},
		}},
		{name: "a push alone counts for its window", given: aWaits, beats: []beat{
			{grantPushed("#1", 1, 8, time.Millisecond), "a gets 1"},
			{sleep(3 * time.Second), "a ends: lost: expired"},
		}},
		{name: "from before it was sent", given: aWaits, beats: []beat{
			{later(time.Second), ""},
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{sleep(time.Second), "a ends: lost: expired"},
		}},
		{name: "from the first lock, if none is answered", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{wait(2100 * time.Millisecond), "lock #1 wait 0"},
			{grantPushed("#1", 1, 8, 0), "lock #1 wait 0"},
		}},
		{name: "from the subscription, if none is answered on it", given: aWaits, beats: []beat{
			{broken, ""},
			{confirmed, "lock #1 wait 70"},
			{later(3 * time.Second), ""},
			{grantPushed("#1", 1, 8, time.Hour), "lock #1 wait 70"},
		}},
		{name: "a tenure that is over is not revived", given: aHoldsSubscribed, beats: []beat{
			{sleep(15 * time.Second), "a ends: lost: expired"},
			{answer("lock", granted(9, 8)), ""},
			{grantPushed("#1", 17, 8, 15*time.Second), ""},
		}},
		{name: "nor before its end was noticed", given: aHoldsSubscribed, beats: []beat{
			{later(15 * time.Second), ""},
			{grantPushed("#1", 9, 8, 15*time.Second), "a ends: lost: expired"},
		}},
		{name: "an id that was released is cancelled again", given: aHoldsSubscribed, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("lock", granted(9, 8)), "cancel #1"},
			{answer("unlock", released()), "release of a: ok"},
			{answer("lock", granted(17, 8)), "cancel #1"},
		}},
		{name: "a token is above every one before", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(10, 1)), "a gets 10"},
			{enter("b"), ""},
			{answer("lock", granted(5, 3)), ""},
			{release("a"), "a ends: released; renew #1 4096"},
			{answer("renew", wire.Answer{Word: wire.Renewed, Base: 10, Size: 3}), "renew #1 4096; b gets 11"},
		}},
		{name: "a grant that was over when it came asks with the same id", beats: []beat{
			{enter("a"), "lock #1"},
			{later(15 * time.Second), ""},
			{answer("lock", granted(1, 8)), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
		}},
	})
}
