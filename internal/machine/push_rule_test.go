package machine

import (
	"testing"
	"time"
)

// Rule 6: pushes are never trusted alone, except a grant.
func TestRulePushesAreNotTrusted(t *testing.T) {
	perform(t, []scene{
		{name: "a grant counts for two seconds, and is renewed in that time", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{wait(700 * time.Millisecond), "renew #1"},
			{answer("renew", renewed()), ""},
			{sleep(4 * time.Second), ""},
		}},
		{name: "a recall serves who waits here, and the answer of unlock decides", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{pushed("recall", "#1"), ""},
			{enter("c"), ""},
			{release("a"), "a ends: released; b gets 2"},
			{release("b"), "b ends: released; unlock #1 #2"},
		}},
		{name: "a recall before the grant is kept", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{pushed("recall", "#1"), ""},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
		}},
		{name: "the head asks at the time that the push says", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{pushed("head", "#1"), ""},
			{wait(2001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "so does one near the front", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(9)), ""},
			{pushed("front", "#1"), ""},
			{wait(2001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a missed one asks at once", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{pushed("missed", "#1"), "lock #1 wait 70"},
		}},
		{name: "or after the answer that is on its way", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{pushed("missed", "#1"), ""},
			{answer("lock", inQueue(0)), ""},
			{wait(time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "it asks when its subscription is confirmed", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{broken, ""},
			{confirmed, "lock #1 wait 70"},
		}},
		{name: "and after an answer to what was sent before that", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{later(time.Millisecond), ""},
			{confirmed, ""},
			{answer("lock", inQueue(0)), ""},
			{wait(time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a revocation is asked about", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{pushed("revoked", "#1"), "renew #1"},
			{answer("renew", renewed()), ""},
		}},
		{name: "one of an earlier subscription is dropped", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{func(y *play) { y.attempt-- }, ""},
			{grantPushed("#1", 1, 8, 0), ""},
		}},
	})
}

// Rule 7: a subscription that the server forgot.
func TestRuleForgottenSubscription(t *testing.T) {
	deaf := inQueue(0)
	deaf.Listening = false
	perform(t, []scene{
		{name: "no listener: it subscribes again, and polls", beats: []beat{
			{confirmed, ""},
			{wait(time.Second), ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", deaf), "listen again"},
			{wait(250 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a second after the last confirmation", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", deaf), ""},
			{later(time.Second), ""},
			{wait(time.Millisecond), "lock #1 wait 70; listen again"},
		}},
		{name: "what was sent before the confirmation says nothing", beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", heldByAnother()), "listen"},
			{confirmed, "lock #1 wait 0"},
			{later(2 * time.Second), ""},
			{confirmed, ""},
			{answer("lock", deaf), ""},
		}},
		{name: "an id that was inserted twice", beats: []beat{
			{confirmed, ""},
			{wait(time.Second), ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{pushed("head", "#1"), ""},
			{wait(2100 * time.Millisecond), "lock #1 wait 70"},
			{answer("lock", inQueue(0)), "listen again"},
		}},
		{name: "but for a reason", beats: []beat{
			{confirmed, ""},
			{wait(time.Second), ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{pushed("missed", "#1"), "lock #1 wait 70"},
			{answer("lock", inQueue(0)), ""},
		}},
	})
}

// Rule 8: too slow is an error.
func TestRuleTooSlowIsAnError(t *testing.T) {
	brief := Settings{TTL: 300 * time.Millisecond}
	perform(t, []scene{
		{name: "two grants in a row that were over", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{later(310 * time.Millisecond), ""},
			{answer("lock", granted(1, 8)), "lock #1"},
			{later(310 * time.Millisecond), ""},
			{answer("lock", granted(9, 8)), "a: too slow; cancel #1"},
		}},
		{name: "not if the second comes much later", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{later(310 * time.Millisecond), ""},
			{answer("lock", granted(1, 8)), "lock #1"},
			{later(time.Second), ""},
			{answer("lock", granted(9, 8)), "lock #1"},
		}},
		{name: "nor if it was queued between them", settings: brief, beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{later(310 * time.Millisecond), ""},
			{answer("lock", granted(1, 8)), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{pushed("missed", "#1"), "lock #1 wait 70"},
			{later(310 * time.Millisecond), ""},
			{answer("lock", granted(9, 8)), "lock #1 wait 70"},
		}},
		{name: "a turn needs a third of the ttl", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{later(11 * time.Second), ""},
			{release("a"), "a ends: released; renew #1"},
			{answer("renew", renewed()), "b gets 2"},
		}},
		{name: "and has it after a renewal, or there is an error", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{later(time.Second), ""},
			{pushed("revoked", "#1"), "renew #1"},
			{pushed("revoked", "#1"), "renew #1"},
			{fail("renew 2", errNetwork), ""},
			{later(10 * time.Second), ""},
			{release("a"), "a ends: released; renew #1"},
			{fail("renew 3", errNetwork), ""},
			{answer("renew 1", renewed()), "b: too slow; unlock #1"},
		}},
	})
}
