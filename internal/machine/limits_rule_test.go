package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Rule 12: MinHold.
func TestRuleMinHold(t *testing.T) {
	short := LocalWaiter{Call: "a", Limits: lifetime.Limits{MinHold: 5 * time.Second}}
	long := LocalWaiter{Call: "a", Limits: lifetime.Limits{MinHold: 20 * time.Second}}
	next := LocalWaiter{Call: "b", Limits: lifetime.Limits{MinHold: 20 * time.Second}}
	perform(t, []scene{
		{name: "a grant lives long enough, and the name cools down", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{later(time.Second), ""},
			{release("a"), "a ends: released; cooldown #1 4000"},
			{answer("cooldown", released()), "release of a: ok"},
		}},
		{name: "after MinHold it is unlocked", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{later(5 * time.Second), ""},
			{release("a"), "a ends: released; unlock #1"},
		}},
		{name: "each try of cooldown counts again", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{release("a"), "a ends: released; cooldown #1 5000"},
			{wait(2100 * time.Millisecond), "release of a: unknown; cooldown #1 2987"},
		}},
		{name: "the lock key must outlive a crash", beats: []beat{
			{enterAs(long), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 0 20000"},
			{answer("renew", block(9, 64)), "a gets 1"},
			{sleep(5 * time.Second), "listen; renew #1 0 15000"},
		}},
		{name: "also after a push", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{grantPushed("#1", 1, 8, 0), "renew #1 0 5000"},
			{answer("renew", renewed()), "a gets 1"},
		}},
		{name: "a tenure that was renewed without leaves", given: aHoldsSubscribed, beats: []beat{
			{enterAs(next), ""},
			{sleep(5 * time.Second), "renew #1"},
			{answer("renew", renewed()), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
		}},
		{name: "one that was not goes on", given: aHoldsSubscribed, beats: []beat{
			{enterAs(next), ""},
			{release("a"), "a ends: released; renew #1 0 20000"},
			{answer("renew", renewed()), "b gets 2"},
		}},
		{name: "each turn is confirmed", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enterAs(next), ""},
			{later(5 * time.Second), ""},
			{release("a"), "a ends: released; renew #1 0 20000"},
			{answer("renew", renewed()), "b gets 2"},
		}},
		{name: "callers that wait here wait for the cool-down", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{release("a"), "a ends: released; cooldown #1 5000 #2"},
			{answer("cooldown", inQueue(0)), "release of a: ok"},
		}},
		{name: "the name cools down before it lingers", settings: Settings{Linger: time.Minute}, beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{release("a"), "a ends: released; cooldown #1 5000"},
		}},
		{name: "where there was no lock key, the queue is handed over", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{release("a"), "a ends: released; cooldown #1 5000"},
			{answer("cooldown", wire.Answer{Word: wire.NotHeld}), "release of a: ok; unlock #1"},
		}},
		{name: "leases that share a turn: the longest counts", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{share("a", 10*time.Second), ""},
			{release("a"), ""},
			{release("a"), "a ends: released; cooldown #1 10000"},
		}},
		{name: "but not that of a call without a lease", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{share("a", 20*time.Second), "to be renewed first"},
			{func(y *play) { y.turn("a").Unshare(20 * time.Second) }, ""},
			{release("a"), ""},
			{release("a"), "a ends: released; cooldown #1 5000"},
		}},
		{name: "a caller that has given up leaves no cool-down", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{func(y *play) { y.turn("a").Tenure.Waive() }, ""},
			{release("a"), "a ends: released; unlock #1"},
		}},
		{name: "no export before it is over", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{export("a"), "export: holdfast: n: its Mutex.MinHold is not over: export the lease after that"},
		}},
		{name: "a late cancel cools down, too", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{sleep(time.Second), ""},
			{func(y *play) { y.p.cancelID(y.id("#1"), y.turn("a").Name, y.now) }, "cooldown #1 4000"},
		}},
		{name: "so does an id of a lease that was lost", beats: []beat{
			{enterAs(short), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{func(y *play) { y.p.Verify("n", y.now) }, "renew #1 0 5000"},
			{answer("renew", wire.Answer{Word: wire.Lost}), "a ends: lost: gone"},
			{enter("b"), "lock #2"},
			{later(time.Second), ""},
			{func(y *play) { answer("lock", wire.Answer{Word: wire.Held, Holder: y.id("#1"), PTTL: time.Second})(y) }, "cooldown #1 4000; listen"},
		}},
		{name: "but not after MinHold", beats: []beat{
			{confirmed, ""},
			{enterAs(short), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{func(y *play) { y.p.Verify("n", y.now) }, "renew #1 0 5000"},
			{answer("renew", wire.Answer{Word: wire.Lost}), "a ends: lost: gone"},
			{wait(5 * time.Second), ""},
			{grantPushed("#1", 9, 8, 0), "cancel #1"},
		}},
	})
}

// Rule 13: MaxHold.
func TestRuleMaxHold(t *testing.T) {
	limited := LocalWaiter{Call: "a", Limits: lifetime.Limits{MaxHold: 3 * time.Second}}
	both := LocalWaiter{Call: "a", Limits: lifetime.Limits{MaxHold: 3 * time.Second, MinHold: 10 * time.Second}}
	patient := LocalWaiter{Call: "a", Limits: lifetime.Limits{MaxHold: 3 * time.Second, Grace: 9 * time.Second}}
	perform(t, []scene{
		{name: "a turn ends, and is unlocked when it is released", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(2999 * time.Millisecond), "listen"},
			{wait(time.Millisecond), "a ends: lost: max hold"},
			{wait(time.Second), ""},
			{release("a"), "unlock #1"},
			{answer("unlock", released()), ""},
			{wait(10 * time.Second), ""},
		}},
		{name: "or after two seconds", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(3 * time.Second), "listen; a ends: lost: max hold"},
			{wait(1999 * time.Millisecond), ""},
			{wait(time.Millisecond), "unlock #1"},
			{release("a"), ""},
		}},
		{name: "or after Grace", beats: []beat{
			{enterAs(patient), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(3 * time.Second), "listen; a ends: lost: max hold"},
			{wait(8999 * time.Millisecond), ""},
			{wait(time.Millisecond), "unlock #1"},
		}},
		{name: "MinHold still applies", beats: []beat{
			{enterAs(both), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(3 * time.Second), "listen; a ends: lost: max hold"},
			{release("a"), "cooldown #1 7000"},
		}},
		{name: "Release waits until it is unlocked", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(3 * time.Second), "listen; a ends: lost: max hold"},
			{func(y *play) { y.say("removed: %v", y.p.Release(y.turn("a"), y.now).Removal.Ended) }, "unlock #1; removed: false"},
		}},
		{name: "a turn that is over is not renewed", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{later(3 * time.Second), ""},
			{func(y *play) { y.turn("a").RenewNow(y.now) }, ""},
		}},
		{name: "nor by Confirm", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{later(3 * time.Second), ""},
			{func(y *play) { y.p.Verify("n", y.now) }, ""},
		}},
		{name: "a call that comes first ends it", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{later(3 * time.Second), ""},
			{export("a"), "a ends: lost: max hold; export: lost: max hold"},
		}},
		{name: "Grace counts from the end that was noticed", beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{sleep(4 * time.Second), "listen; a ends: lost: max hold"},
			{wait(1999 * time.Millisecond), ""},
			{wait(time.Millisecond), "unlock #1"},
		}},
		{name: "the end of a term is announced after its unlock", kind: func(c *Client) *Kind { return c.CandidateKind("first") }, beats: []beat{
			{enterAs(limited), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(3 * time.Second), "listen; a ends: lost: max hold"},
			{wait(2 * time.Second), "unlock #1"},
			{answer("unlock", released()), "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
	})
}

// Rule 16: NoRenew.
func TestRuleNoRenew(t *testing.T) {
	fixed := func(c *Client) *Kind {
		return DedicatedKind("", lifetime.Terms{TTL: c.TTL, NoRenew: true})
	}
	extend := func(d time.Duration) input {
		return func(y *play) { y.turn("a").Prolong(y.now, 0, d) }
	}
	perform(t, []scene{
		{name: "it is not renewed, and unlocked at its deadline", kind: fixed, given: aHolds, beats: []beat{
			{wait(14 * time.Second), "listen"},
			{wait(time.Second), "a ends: lost: expired; unlock #1"},
		}},
		{name: "after a push a renewal sets the ttl first", kind: fixed, given: aWaits, beats: []beat{
			{grantPushed("#1", 1, 8, 0), "renew #1 0 15000"},
			{answer("renew", renewed()), "a gets 1"},
			{wait(14 * time.Second), ""},
		}},
		{name: "only Extend renews", kind: fixed, given: aHolds, beats: []beat{
			{extend(time.Minute), "renew #1 0 60000"},
			{answer("renew", renewed()), ""},
			{wait(59 * time.Second), "listen"},
			{wait(time.Second), "a ends: lost: expired; unlock #1"},
		}},
		{name: "an Extend without an answer may have prolonged it", kind: fixed, given: aHolds, beats: []beat{
			{extend(20 * time.Second), "renew #1 0 20000"},
			{sleep(15 * time.Second), "listen; a ends: lost: expired; unlock #1"},
			{fail("unlock", errNetwork), ""},
			{wait(20 * time.Millisecond), "unlock #1"},
		}},
		{name: "where others renew it asks", kind: fixed, given: aHoldsSubscribed, beats: []beat{
			{broken, ""},
			{confirmed, "held #1"},
			{fail("held", errNetwork), ""},
			{wait(20 * time.Millisecond), "held #1"},
			{answer("held", wire.Answer{Word: wire.Ours, PTTL: 10 * time.Second}), ""},
			{wait(10 * time.Second), "held #1; held #1; held #1; held #1; held #1"},
		}},
		{name: "so it does when it was revoked here", kind: fixed, given: aHolds, beats: []beat{
			{func(y *play) { y.p.Verify("n", y.now) }, "held #1"},
			{fail("held", errNetwork), ""},
			{wait(20 * time.Millisecond), "held #1"},
		}},
		{name: "soon, however long the ttl is", kind: fixed, given: aHoldsSubscribed, beats: []beat{
			{extend(time.Hour), "renew #1 0 3600000"},
			{answer("renew", renewed()), ""},
			{pushed(wire.PushRevoked, "#1"), "held #1"},
			{wait(3 * time.Second), "held #1"},
		}},
		{name: "an answer to a question of before is not enough", kind: fixed, given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRevoked, "#1"), "held #1"},
			{later(time.Millisecond), ""},
			{pushed(wire.PushRevoked, "#1"), "held #1"},
			{answer("held 1", wire.Answer{Word: wire.Ours, PTTL: 10 * time.Second}), ""},
			{wait(2500 * time.Millisecond), "held #1"},
		}},
		{name: "nor is that of an Extend", kind: fixed, given: aHoldsSubscribed, beats: []beat{
			{extend(time.Minute), "renew #1 0 60000"},
			{later(time.Millisecond), ""},
			{pushed(wire.PushRevoked, "#1"), "held #1"},
			{answer("renew", renewed()), ""},
			{wait(2500 * time.Millisecond), "held #1"},
		}},
		{name: "nor that of the renewal which began the turn", kind: fixed, given: aWaits, beats: []beat{
			{grantPushed("#1", 1, 8, 0), "renew #1 0 15000"},
			{later(time.Millisecond), ""},
			{pushed(wire.PushRevoked, "#1"), "renew #1 0 15000"},
			{answer("renew 1", renewed()), "a gets 1"},
			{wait(500 * time.Millisecond), "held #1"},
		}},
		{name: "a revoked one is unlocked a ttl later", kind: fixed, given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRevoked, "#1"), "held #1"},
			{answer("held", wire.Answer{Word: wire.Revoked}), "a ends: lost: revoked"},
			{wait(14999 * time.Millisecond), ""},
			{wait(time.Millisecond), "unlock #1"},
		}},
	})
}
