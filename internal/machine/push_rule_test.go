package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// behind is the answer that queues behind a holder.
func behind(holder string, pttl time.Duration) wire.Answer {
	a := inQueue(0)
	a.Holder, a.PTTL = holder, pttl
	return a
}

// batchable says whether a request may be sent in a batch.
func batchable(which string) input {
	return func(y *play) { y.say("batchable: %v", y.request(which).Batchable()) }
}

// placed is the answer that queues at that position.
func placed(position int64, pttl time.Duration) wire.Answer {
	a := inQueue(position)
	a.PTTL = pttl
	return a
}

// answeredAt is the answer that queues, at that time of the server.
func answeredAt(at time.Duration) wire.Answer {
	a := inQueue(0)
	a.Server = at.Microseconds()
	return a
}

// Rule 6: pushes are never trusted alone, except a grant.
func TestRulePushesAreNotTrusted(t *testing.T) {
	refused := inQueue(0)
	refused.Refused, refused.Inserted = "NOPERM", false
	orphan := behind("foreign", -time.Millisecond)
	handedOver := placed(9, 5*time.Second)
	handedOver.PollIn = time.Second
	perform(t, []scene{
		{name: "a grant counts for two seconds, and is renewed in that time", given: aWaits, beats: []beat{
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{wait(700 * time.Millisecond), "renew #1"},
			{answer("renew", renewed()), ""},
			{sleep(4 * time.Second), ""},
		}},
		{name: "a recall serves the local waiters, and the answer of unlock decides", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("c"), ""},
			{release("a"), "a ends: released; b gets 2"},
			{release("b"), "b ends: released; unlock #1 #2"},
		}},
		{name: "a recall before the grant is kept", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{pushed(wire.PushRecall, "#1"), ""},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
		}},
		{name: "behind a recall no request is in a batch", given: aHoldsSubscribed, beats: []beat{
			{batchable("lock"), "batchable: true"},
			{both(pushed(wire.PushRecall, "#1"), release("a")), "a ends: released; unlock #1"},
			{batchable("unlock"), "batchable: false"},
		}},
		{name: "nor one that a batch refused", beats: []beat{
			{enter("a"), "lock #1"},
			{batchable("lock"), "batchable: true"},
			{func(y *play) { y.local.NotBatched = true }, ""},
			{batchable("lock"), "batchable: false"},
		}},
		{name: "nor a lock with a place in the queue", given: aWaits, beats: []beat{
			{pushed(wire.PushMissed, "#1"), "lock #1 wait 70"},
			{func(y *play) { y.local.seen = lastSeen{} }, ""},
			{batchable("lock"), "batchable: false"},
		}},
		{name: "nor an unlock with a successor", given: aHoldsSubscribed, beats: []beat{
			{both(pushed(wire.PushRecall, "#1"), enter("b")), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{func(y *play) { y.request("unlock").Tenure.servesUpTo = 0 }, ""},
			{batchable("unlock"), "batchable: false"},
		}},
		{name: "a renewal is never in one", given: aHolds, beats: []beat{
			{pushed(wire.PushRevoked, "#1"), "renew #1"},
			{batchable("renew"), "batchable: false"},
		}},
		{name: "the head asks at the time that the push says", given: aWaits, beats: []beat{
			{pushed(wire.PushHead, "#1"), ""},
			{wait(2001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "so does one near the front", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(9)), ""},
			{pushed(wire.PushFront, "#1"), ""},
			{wait(2001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a lost one: it asks when the lock key expires", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", behind(another, 5*time.Second)), ""},
			{wait(5001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "and 50 ms later for each in front", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", placed(100, time.Second)), ""},
			{wait(6001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "near the front it does not trust the ttl", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", placed(15, 15*time.Second)), ""},
			{wait(3651 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "if it has just handed over, it polls as the head does", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", handedOver), ""},
			{wait(5001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "without a subscription it polls", beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", heldByAnother()), "listen"},
			{broken, "lock #1"},
			{answer("lock", heldByAnother()), ""},
			{wait(99 * time.Millisecond), ""},
			{wait(151 * time.Millisecond), "lock #1"},
		}},
		{name: "so it does for a minute where the server refuses to publish", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", refused), ""},
			{wait(250 * time.Millisecond), "lock #1 wait 70"},
			{answer("lock", refused), ""},
			{warned, "1 warnings"},
			{sleep(2 * time.Minute), "lock #1 wait 70"},
			{answer("lock", inQueue(0)), ""},
			{wait(15 * time.Second), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
			{answer("lock", refused), ""},
			{warned, "2 warnings"},
		}},
		{name: "a key without an expiry is polled, and repaired if it stays", settings: Settings{RepairOrphans: time.Minute}, beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", orphan), ""},
			{sleep(30 * time.Second), "lock #1 wait 70"},
			{answer("lock", orphan), ""},
			{sleep(30 * time.Second), "lock #1 wait 70"},
			{answer("lock", orphan), "repair foreign 15000"},
			{answer("repair", wire.Answer{Word: wire.Repaired}), ""},
			{warned, "1 warnings"},
			{fail("repair", errNetwork), ""},
			{warned, "2 warnings"},
		}},
		{name: "unless another took its place", settings: Settings{RepairOrphans: time.Minute}, beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", orphan), ""},
			{sleep(30 * time.Second), "lock #1 wait 70"},
			{answer("lock", behind("other", -time.Millisecond)), ""},
			{sleep(30 * time.Second), "lock #1 wait 70"},
			{answer("lock", orphan), ""},
		}},
		{name: "a holder that sends no push is polled", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", behind("foreign", 15*time.Second)), ""},
			{pushed(wire.PushHead, "#1"), ""},
			{wait(250 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a push overtakes the answer", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{pushed(wire.PushHead, "#1"), ""},
			{answer("lock", inQueue(0)), ""},
			{wait(2001 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a missed one asks at once", given: aWaits, beats: []beat{
			{pushed(wire.PushMissed, "#1"), "lock #1 wait 70"},
		}},
		{name: "or after the answer that is on its way", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{pushed(wire.PushMissed, "#1"), ""},
			{answer("lock", inQueue(0)), ""},
			{wait(time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "it asks when its subscription is confirmed", given: aWaits, beats: []beat{
			{broken, ""},
			{confirmed, "lock #1 wait 70"},
		}},
		{name: "and after the answer to an older lock", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{later(time.Millisecond), ""},
			{confirmed, ""},
			{answer("lock", inQueue(0)), ""},
			{wait(time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a revocation is asked about", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRevoked, "#1"), "renew #1"},
			{answer("renew", renewed()), ""},
		}},
		{name: "tokens as far ahead as the server may reserve", given: aWaits, beats: []beat{
			{wait(time.Second), ""},
			{grantPushed("#1", 8_002_000-7, 8, 0), "a gets 8001993"},
		}},
		{name: "tokens ahead of that: the answer decides", given: aWaits, beats: []beat{
			{wait(time.Second), ""},
			{grantPushed("#1", 8_002_001-7, 8, 0), "lock #1 wait 70"},
			{answer("lock", inQueue(0)), ""},
			{sleep(time.Second), ""},
			{grantPushed("#1", 1<<52, 8, 0), "lock #1 wait 70"},
			{answer("lock", granted(1, 8)), "a gets 1"},
		}},
		{name: "the newest answer shows the server's clock", given: aWaits, beats: []beat{
			{pushed(wire.PushMissed, "#1"), "lock #1 wait 70"},
			{answer("lock", answeredAt(10*time.Second)), ""},
			{grantPushed("#1", 24_000_000-7, 8, 0), "a gets 23999993"},
		}},
		{name: "tokens ahead before any answer", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{grantPushed("#1", 1<<52, 8, 0), ""},
			{answer("lock", inQueue(0)), ""},
			{wait(time.Millisecond), "lock #1 wait 70"},
			{answer("lock", granted(1, 8)), "a gets 1"},
		}},
		{name: "tokens ahead while it holds: it renews, and never uses them", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{grantPushed("#1", 1<<52, 8, 0), "renew #1"},
			{answer("renew", renewed()), ""},
			{release("a"), "a ends: released; b gets 2"},
		}},
		{name: "tokens ahead after its end: it is cancelled", given: aWaits, beats: []beat{
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), "#1 is gone"},
			{grantPushed("#1", 1<<52, 8, 0), "cancel #1"},
		}},
		{name: "one of an earlier subscription is dropped", given: aWaits, beats: []beat{
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
		{name: "a lock that is older than the confirmation says nothing", beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", heldByAnother()), "listen"},
			{confirmed, "lock #1 wait 0"},
			{later(2 * time.Second), ""},
			{confirmed, ""},
			{answer("lock", deaf), ""},
			{wait(1100 * time.Millisecond), "lock #1 wait 70"},
		}},
		{name: "a lost place is no reason: the push that says why may be on its way", beats: []beat{
			{confirmed, ""},
			{wait(time.Second), ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{pushed(wire.PushHead, "#1"), ""},
			{wait(2100 * time.Millisecond), "lock #1 wait 70"},
			{answer("lock", inQueue(0)), ""},
			{pushed(wire.PushMissed, "#1"), "lock #1 wait 70"},
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
			{pushed(wire.PushMissed, "#1"), "lock #1 wait 70"},
			{later(310 * time.Millisecond), ""},
			{answer("lock", granted(9, 8)), "lock #1 wait 70"},
		}},
		{name: "a turn needs a third of the ttl", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{later(11 * time.Second), ""},
			{release("a"), "a ends: released; renew #1"},
			{answer("renew", renewed()), "b gets 2"},
		}},
		{name: "and has it after a renewal, or there is an error", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{later(time.Second), ""},
			{pushed(wire.PushRevoked, "#1"), "renew #1"},
			{pushed(wire.PushRevoked, "#1"), "renew #1"},
			{fail("renew 2", errNetwork), ""},
			{later(10 * time.Second), ""},
			{release("a"), "a ends: released; renew #1"},
			{fail("renew 3", errNetwork), ""},
			{answer("renew 1", renewed()), "b: too slow; unlock #1"},
		}},
	})
}
