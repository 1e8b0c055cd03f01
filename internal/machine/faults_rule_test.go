package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// acked is the answer to a renewal, and to the WAIT behind it.
func acked(n int, a wire.Answer) input {
	return func(y *play) {
		y.request("renew").Acked = n
		answer("renew", a)(y)
	}
}

// block is the answer of a renewal that reserves tokens.
func block(base, size int64) wire.Answer {
	return wire.Answer{Word: wire.Renewed, Base: base, Size: size}
}

// Rule 9: a slot that moves.
func TestRuleSlotThatMoves(t *testing.T) {
	perform(t, []scene{
		{name: "an unlock of the lock key only is repeated until it runs", given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", wire.Answer{Word: wire.Dropped}), "release of a: ok; unlock #1"},
			{answer("unlock", wire.Answer{Word: wire.Dropped}), ""},
			{wait(20 * time.Millisecond), "unlock #1"},
			{answer("unlock", released()), ""},
			{wait(time.Minute), ""},
		}},
		{name: "for a ttl at most", settings: Settings{TTL: time.Second}, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", wire.Answer{Word: wire.Dropped}), "release of a: ok; unlock #1"},
			{later(time.Second), ""},
			{answer("unlock", wire.Answer{Word: wire.Dropped}), ""},
			{wait(time.Minute), ""},
		}},
		{name: "a renewal of the lock key only is soon repeated", given: aHolds, beats: []beat{
			{sleep(5 * time.Second), "listen; renew #1"},
			{answer("renew", wire.Answer{Word: wire.Kept}), ""},
			{wait(50 * time.Millisecond), ""},
			{wait(50 * time.Millisecond), "renew #1"},
			{answer("renew", renewed()), ""},
			{wait(time.Second), ""},
		}},
	})
}

// Rule 10: with WaitReplicas, acknowledged before it counts.
func TestRuleWaitReplicas(t *testing.T) {
	replicated := Settings{WaitReplicas: 1}
	perform(t, []scene{
		{name: "a grant gives a turn when a replica has it", settings: replicated, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{acked(1, block(9, 64)), "a gets 9"},
		}},
		{name: "also one that was pushed", settings: replicated, given: aWaits, beats: []beat{
			{grantPushed("#1", 1, 8, 0), "renew #1 4096"},
			{acked(1, block(9, 64)), "a gets 9"},
		}},
		{name: "too few replicas are an error for all waiters", settings: replicated, beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{enter("b"), ""},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{acked(0, block(9, 64)), "a: too few replicas; b: too few replicas; unlock #1"},
		}},
		{name: "a held name is renewed until its deadline", settings: replicated, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{acked(1, block(9, 64)), "a gets 9"},
			{sleep(5 * time.Second), "listen; renew #1"},
			{acked(0, renewed()), ""},
			{wait(20 * time.Millisecond), "renew #1"},
			{acked(0, renewed()), ""},
			{sleep(10 * time.Second), "a ends: lost: expired"},
		}},
		{name: "without an answer it is asked again, and after the deadline with a new id", settings: replicated, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{fail("renew", errNetwork), ""},
			{wait(20 * time.Millisecond), "renew #1 4096"},
			{later(14900 * time.Millisecond), ""},
			{fail("renew", errNetwork), "unlock #1; lock #2"},
		}},
		{name: "for a ttl", settings: replicated, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{fail("renew", errNetwork), ""},
			{sleep(15 * time.Second), "listen; unlock #1; lock #2"},
			{answer("lock", granted(1, 8)), "a: unreachable; unlock #2"},
		}},
		{name: "an error that lasts ends it at once", settings: replicated, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{fail("renew", driver.ServerError("ERR no such command")), "a: holdfast: n: ERR no such command; unlock #1"},
		}},
		{name: "the caller has gone", settings: replicated, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{leave("a"), "unlock #1"},
			{answer("unlock", released()), "#1 is gone"},
		}},
	})
}

// Patience: how long callers wait while Redis fails.
func TestRulePatience(t *testing.T) {
	brief := Settings{TTL: time.Second}
	perform(t, []scene{
		{name: "they get an error when it ends", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{fail("lock", errNetwork), ""},
			{wait(20 * time.Millisecond), "lock #1"},
			{later(time.Second), ""},
			{fail("lock", errNetwork), "a: unreachable; cancel #1"},
		}},
		{name: "time in which the process was frozen does not count", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{fail("lock", errNetwork), ""},
			{sleep(time.Minute), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
		}},
		{name: "but that before it does", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{fail("lock", errNetwork), ""},
			{wait(20 * time.Millisecond), "lock #1"},
			{later(600 * time.Millisecond), ""},
			{fail("lock", errNetwork), ""},
			{sleep(time.Minute), "lock #1"},
			{later(500 * time.Millisecond), ""},
			{fail("lock", errNetwork), "a: unreachable; cancel #1"},
		}},
		{name: "nor that during a release", settings: Settings{TTL: time.Hour}, given: aHolds, beats: []beat{
			{enter("b"), "listen"},
			{release("a"), "a ends: released; unlock #1"},
			{later(time.Minute), ""},
			{fail("unlock", errNetwork), ""},
			{wait(20 * time.Millisecond), "release of a: unknown; unlock #1"},
		}},
		{name: "an error that lasts ends it at once", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{fail("lock", driver.ServerError("NOPERM")), "a: holdfast: n: the server's user lacks a right that holdfast needs: NOPERM; cancel #1"},
		}},
		{name: "an answer that lock does not give", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", wire.Answer{Word: wire.Marked}), ""},
			{wait(20 * time.Millisecond), "lock #1"},
		}},
		{name: "a lock that is not answered is sent again", settings: brief, beats: []beat{
			{enter("a"), "lock #1"},
			{wait(520 * time.Millisecond), "lock #1"},
		}},
	})
}
