package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// export gives the turn of a caller away.
func export(who string) input {
	return func(y *play) {
		if given, err := y.p.Export(y.turn(who), y.now); err != nil {
			y.say("export: %v", err)
		} else {
			y.say("the last token is %d", given.Last)
			if given.Leads {
				y.say("the value is %s", given.Value)
			}
		}
	}
}

// first asks by another script.
func first(f FirstLock) func(c *Client) *Kind {
	return func(c *Client) *Kind {
		k := DedicatedKind("", c.defaultKind.Terms)
		k.First = &f
		return k
	}
}

// Rule 11: revoke, steal and export.
func TestRuleRevokeStealExport(t *testing.T) {
	revocation := wire.Answer{Word: wire.Revoked, Reason: "a reason"}
	theft := wire.Answer{Word: wire.Stolen, Holder: another, Reason: "a reason"}
	taken := wire.Answer{Word: wire.NotHeld, Holder: another}
	take := first(FirstLock{Script: script.Take, Args: []string{"", another, "a reason"}, Victim: Victim{ID: another}})
	adopt := first(FirstLock{Script: script.Adopt, Args: []string{another, "8"}})
	perform(t, []scene{
		{name: "a revoked tenure is over, and callers ask with a new id", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{pushed(wire.PushRevoked, "#1"), "renew #1"},
			{answer("renew", revocation), "a ends: lost: revoked; lock #2 wait 0"},
			{wait(time.Second), ""},
			{release("a"), "unlock #1"},
		}},
		{name: "a push before the grant is kept", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{pushed(wire.PushRevoked, "#1"), ""},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{wait(time.Millisecond), "renew #1"},
		}},
		{name: "a stolen tenure is past", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRevoked, "#1"), "renew #1"},
			{answer("renew", theft), "a ends: lost: stolen"},
			{release("a"), ""},
		}},
		{name: "a lost one, too, and all others are renewed", given: aHolds, beats: []beat{
			{sleep(5 * time.Second), "listen; renew #1"},
			{answer("renew", wire.Answer{Word: wire.Lost}), "a ends: lost: gone"},
			{release("a"), ""},
		}},
		{name: "admin.Of asks at once", given: aHolds, beats: []beat{
			{func(y *play) { y.p.Verify("n", y.now) }, "renew #1"},
			{answer("renew", revocation), "a ends: lost: revoked"},
		}},
		{name: "CheckHeld asks, and says for how long", given: aHolds, beats: []beat{
			{func(y *play) { y.turn("a").Check(y.now) }, "held #1"},
			{answer("held", wire.Answer{Word: wire.Ours, PTTL: time.Second}), ""},
			{func(y *play) { y.say("%v", y.request("held").HeldUntil.Sub(y.now).Round(time.Second)) }, "1s"},
			{func(y *play) { y.turn("a").Check(y.now) }, "held #1"},
			{answer("held", wire.Answer{Word: wire.Lost}), "a ends: lost: gone"},
		}},
		{name: "a renewal may be older than the reason for another", given: aHolds, beats: []beat{
			{func(y *play) { y.turn("a").RenewNow(y.now) }, "renew #1"},
			{func(y *play) { y.turn("a").RenewNow(y.now) }, "renew #1"},
		}},
		{name: "a steal", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{answer("take", granted(9, 8)), "a gets 9"},
		}},
		{name: "a steal is repeated until it is answered", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{fail("take", errNetwork), ""},
			{wait(20 * time.Millisecond), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{answer("take", granted(9, 8)), "a gets 9"},
		}},
		{name: "a steal from another holder than was shown", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{answer("take", taken), "a: another tenure"},
		}},
		{name: "unless an earlier attempt had no answer", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{fail("take", errNetwork), ""},
			{wait(20 * time.Millisecond), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{answer("take", taken), "a: unreachable; cancel #1"},
		}},
		{name: "or its grant came late", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{later(15 * time.Second), ""},
			{answer("take", granted(9, 8)), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{answer("take", taken), "a: unreachable; cancel #1"},
		}},
		{name: "a steal from a lease of this Client", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{func(y *play) {
				y.kind = first(FirstLock{Script: script.Take, Victim: Victim{ID: y.id("#1"), Reason: "a reason"}})(y.p)
			}, ""},
			{enter("thief"), "take #2"},
			{answer("take", granted(9, 8)), "a ends: lost: stolen; lock #3 wait 0; thief gets 9"},
		}},
		{name: "a stolen name does not linger", settings: Settings{Linger: time.Hour}, kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{answer("take", granted(9, 8)), "a gets 9"},
			{release("a"), "a ends: released; unlock #1"},
		}},
		{name: "a steal that is answered after Close is undone", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{shutDown, "a: closed; owed: cancel #1"},
			{late("take", granted(9, 8)), "owed: cancel #1"},
		}},
		{name: "a thief that has gone", kind: take, beats: []beat{
			{enter("a"), "take #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another a reason"},
			{leave("a"), "cancel #1"},
			{answer("take", granted(9, 8)), "cancel #1"},
		}},
		{name: "an export ends the lease and leaves the lock key", given: aHoldsSubscribed, beats: []beat{
			{export("a"), "a ends: lost: exported; the last token is 8"},
			{release("a"), ""},
			{grantPushed("#1", 9, 8, 0), ""},
			{wait(time.Minute), ""},
		}},
		{name: "it waits for a renewal that reserves tokens", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 1)), "a gets 1"},
			{sleep(5 * time.Second), "renew #1 4096"},
			{export("a"), "export: a renewal that reserves tokens has no answer yet: try again"},
			{answer("renew", block(2, 4096)), ""},
			{export("a"), "a ends: lost: exported; the last token is 4097"},
		}},
		{name: "also for one that nobody else waits for", given: aHolds, beats: []beat{
			{func(y *play) { y.turn("a").Prolong(y.now, 1, 0) }, "renew #1 1"},
			{func(y *play) { y.say("settled: %v", y.turn("a").Settled()) }, "settled: false"},
			{export("a"), "export: a renewal that reserves tokens has no answer yet: try again"},
			{answer("renew", block(9, 1)), ""},
			{func(y *play) { y.say("settled: %v", y.turn("a").Settled()) }, "settled: true"},
			{export("a"), "a ends: lost: exported; the last token is 9"},
		}},
		{name: "no export of a turn that leases share", given: aHolds, beats: []beat{
			{share("a", 0), ""},
			{export("a"), "export: holdfast: n: 2 leases share it (Mutex.Reentrant): release the others before you export it"},
		}},
		{name: "an adoption repeats with the same id", kind: adopt, beats: []beat{
			{enter("a"), "adopt #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{fail("adopt", errNetwork), ""},
			{wait(20 * time.Millisecond), "adopt #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{answer("adopt", granted(9, 8)), "a gets 9"},
		}},
		{name: "the exported lease was revoked", kind: adopt, beats: []beat{
			{enter("a"), "adopt #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{answer("adopt", revocation), "a: lost: revoked"},
		}},
		{name: "or is over", kind: adopt, beats: []beat{
			{enter("a"), "adopt #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{answer("adopt", wire.Answer{Word: wire.Lost}), "a: lost: gone"},
		}},
		{name: "an adoption has a tenure of its own, which does not linger", settings: Settings{Linger: time.Hour}, kind: adopt, beats: []beat{
			{enter("a"), "adopt #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{enter("b"), "adopt #2 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{answer("adopt", granted(9, 8)), "b gets 9"},
			{release("b"), "b ends: released; unlock #2"},
		}},
		{name: "one that is answered after Close is undone", kind: adopt, beats: []beat{
			{enter("a"), "adopt #1 AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another 8"},
			{shutDown, "a: closed; owed: cancel #1"},
			{late("adopt", granted(9, 8)), "owed: cancel #1"},
		}},
	})
}

// Rule 15: OnceEvery.
func TestRuleOnceEvery(t *testing.T) {
	tick := first(FirstLock{Script: script.OnceLock, Args: []string{"", "1000000"}})
	perform(t, []scene{
		{name: "the tick is ours", kind: tick, beats: []beat{
			{enter("try"), "once_lock #1 1000000"},
			{answer("once_lock", granted(1, 8)), "try gets 1"},
		}},
		{name: "another has begun it", kind: tick, beats: []beat{
			{enter("try"), "once_lock #1 1000000"},
			{answer("once_lock", wire.Answer{Word: wire.NotDue}), "try: holdfast: not due any more"},
		}},
	})
}
