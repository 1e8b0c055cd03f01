package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Close returns the calls that clean up in Redis.
func TestClose(t *testing.T) {
	short := LocalWaiter{Call: "a", Limits: lifetime.Limits{MinHold: 5 * time.Second}}
	perform(t, []scene{
		{name: "a held name is unlocked, and nothing is sent later", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{shutDown, "b: closed; a ends: lost: closed; owed: unlock #1"},
			{wait(10 * time.Second), ""},
			{enter("c"), "c: closed"},
			{confirmed, ""},
			{pushed(wire.PushRevoked, "#1"), ""},
			{broken, ""},
			{func(y *play) { y.turn("a").RenewNow(y.now) }, ""},
			{func(y *play) { y.p.Verify("n", y.now) }, ""},
		}},
		{name: "a queued id is cancelled", given: aWaits, beats: []beat{
			{shutDown, "a: closed; owed: cancel #1"},
		}},
		{name: "a lock that is answered later is undone", beats: []beat{
			{enter("a"), "lock #1"},
			{shutDown, "a: closed; owed: cancel #1"},
			{late("lock", granted(1, 8)), "owed: cancel #1"},
		}},
		{name: "so is an id that an unlock queued", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{shutDown, "b: closed; release of a: unknown; owed: unlock #1; owed: cancel #2"},
			{late("unlock", inQueue(0)), "owed: cancel #2"},
		}},
		{name: "also by a cool-down", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{release("a"), "a ends: released; cooldown #1 5000 #2"},
			{shutDown, "b: closed; release of a: unknown; owed: cooldown #1 5000; owed: cancel #2"},
			{late("cooldown", inQueue(0)), "owed: cancel #2"},
		}},
		{name: "a lease that is over is unlocked", given: aHolds, beats: []beat{
			{sleep(15 * time.Second), "listen; a ends: lost: expired"},
			{shutDown, "owed: unlock #1"},
		}},
		{name: "MinHold still applies", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{later(time.Second), ""},
			{shutDown, "a ends: lost: closed; owed: cooldown #1 4000"},
		}},
		{name: "also of a lease that is over", beats: []beat{
			{enterAs(LocalWaiter{Call: "a", Limits: lifetime.Limits{MinHold: 5 * time.Second, MaxHold: time.Second}}), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{sleep(time.Second), "listen; a ends: lost: max hold"},
			{shutDown, "owed: cooldown #1 4000"},
		}},
		{name: "and of a lock that is answered later", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{grantPushed("#1", 1, 8, 0), "renew #1 0 5000"},
			{answer("renew", renewed()), "a gets 1"},
			{shutDown, "a ends: lost: closed; owed: cooldown #1 5000"},
			{late("lock", granted(9, 8)), "owed: cooldown #1 5000"},
		}},
		{name: "an exported id is left alone", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{export("a"), "a ends: lost: exported; the last token is 8"},
			{shutDown, ""},
			{late("lock", granted(9, 8)), ""},
		}},
		{name: "a term that ends is announced", kind: func(c *Client) *Kind { return c.CandidateKind("first") }, given: aHolds, beats: []beat{
			{shutDown, "a ends: lost: closed; owed: unlock #1; owed: election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
		{name: "a cleanup goes out again, unless it was answered", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{shutDown, "owed: cancel #1"},
		}},
		{name: "one that was answered may go out once more", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{wait(2 * time.Second), ""},
			{fail("lock", wire.ErrNoAnswer), ""},
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), ""},
			{shutDown, "once more: cancel #1"},
		}},
	})
}
