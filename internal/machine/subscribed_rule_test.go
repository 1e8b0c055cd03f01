package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// Rule 1: subscribed before it waits.
func TestRuleSubscribedBeforeItWaits(t *testing.T) {
	perform(t, []scene{
		{name: "the first lock does not wait", beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", heldByAnother()), "listen"},
			{confirmed, "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
		}},
		{name: "with a subscription it waits at once", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
		}},
		{name: "in a Cluster each name has one, and its locks name the channel", settings: Settings{Sharded: true}, beats: []beat{
			{enter("a"), "lock #1 try 0 :{holdfast:n}"},
			{answer("lock", heldByAnother()), "listen"},
			{confirmed, "lock #1 wait 0 :{holdfast:n}"},
			{answer("lock", inQueue(0)), ""},
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{release("a"), "a ends: released; unlock #1 :{holdfast:n}"},
		}},
		{name: "a try needs none", beats: []beat{
			{enter("try"), "lock #1"},
			{answer("lock", heldByAnother()), "try: held by another"},
		}},
		{name: "a second local caller opens it", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
		}},
		{name: "no second turn where a recall may have been missed", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", released()), "release of a: ok; lock #2"},
		}},
		{name: "a second turn after a grant that was pushed", given: aWaits, beats: []beat{
			{enter("b"), ""},
			{grantPushed("#1", 1, 8, time.Millisecond), "a gets 1"},
			{release("a"), "a ends: released; b gets 2"},
		}},
		{name: "a second turn if lock was sent after the confirmation", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{release("a"), "a ends: released; b gets 2"},
		}},
		{name: "a second turn if renew was sent after the confirmation", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{confirmed, "renew #1"},
			{answer("renew", renewed()), ""},
			{release("a"), "a ends: released; b gets 2"},
		}},
		{name: "that renewal has to be answered", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{confirmed, "renew #1"},
			{release("a"), "a ends: released; unlock #1 #2"},
		}},
		{name: "a renewal before the confirmation proves nothing", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{wait(5 * time.Second), "renew #1; renew #1"},
			{confirmed, "renew #1"},
			{answer("renew 1", renewed()), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
		}},
		{name: "and is repeated", given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{wait(2500 * time.Millisecond), "renew #1"},
			{confirmed, "renew #1"},
			{answer("renew 2", renewed()), ""},
			{answer("renew 1", renewed()), ""},
			{wait(time.Millisecond), "renew #1"},
		}},
		{name: "a lock while it was not confirmed proves nothing, too", beats: []beat{
			{subscribing, ""},
			{later(time.Millisecond), ""},
			{enter("a"), "lock #1"},
			{later(time.Millisecond), ""},
			{func(y *play) { y.p.sub.OnConfirm(y.now) }, ""},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
		}},
		{name: "an idle tenure asks while a recall may be missed", settings: Settings{Linger: time.Hour}, given: aHoldsSubscribed, beats: []beat{
			{release("a"), "a ends: released"},
			{broken, ""},
			{wait(time.Second), "renew #1"},
		}},
		{name: "an id serves one tenure", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{answer("unlock", inQueue(0)), "release of a: ok"},
			{grantPushed("#2", 9, 8, time.Millisecond), "b gets 9"},
		}},
	})
}
