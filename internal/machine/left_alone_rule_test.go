package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// Rule 5: the lock key is left alone until Release.
func TestRuleLeftAloneUntilRelease(t *testing.T) {
	perform(t, []scene{
		{name: "a lease that is over is unlocked when it is released", given: aHolds, beats: []beat{
			{sleep(15 * time.Second), "listen; a ends: lost: expired"},
			{wait(time.Second), ""},
			{release("a"), "unlock #1"},
			{answer("unlock", released()), ""},
			{release("a"), ""},
		}},
		{name: "its end is noticed by the release", given: aHolds, beats: []beat{
			{later(15 * time.Second), ""},
			{release("a"), "a ends: lost: expired; unlock #1"},
		}},
		{name: "however late, it has ended at its deadline", given: aHolds, beats: []beat{
			{later(20 * time.Second), ""},
			{release("a"), "a ends: lost: expired; unlock #1"},
			{func(y *play) {
				for _, e := range y.h.events {
					if e.What == LeaseLost {
						y.say("at its deadline: %v", e.At == y.turn("a").Ends())
					}
				}
			}, "at its deadline: true"},
		}},
		{name: "a renewal that comes too late changes nothing", given: aHolds, beats: []beat{
			{sleep(5 * time.Second), "listen; renew #1"},
			{later(10 * time.Second), ""},
			{answer("renew", renewed()), "a ends: lost: expired"},
		}},
		{name: "a renewal that waits for a pipeline is not sent behind a release", given: aHoldsSubscribed, beats: []beat{
			{both(pushed(wire.PushRevoked, "#1"), release("a")), "renew #1; a ends: released; unlock #1; renew is not sent"},
		}},
		{name: "a renewal that waits for a pipeline counts from when it is sent", given: aHoldsSubscribed, beats: []beat{
			{both(pushed(wire.PushRevoked, "#1"), later(2*time.Second)), "renew #1"},
			{answer("renew", renewed()), ""},
			{func(y *play) { y.say("ends in %v", y.turn("a").Ends().Sub(y.now).Round(time.Second)) }, "ends in 15s"},
		}},
		{name: "callers that wait here ask with a new id", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{sleep(15 * time.Second), "a ends: lost: expired; lock #2 wait 0"},
		}},
		{name: "an idle tenure is unlocked at once", settings: Settings{Linger: time.Hour}, given: aHoldsSubscribed, beats: []beat{
			{release("a"), "a ends: released"},
			{sleep(15 * time.Second), "unlock #1"},
		}},
		{name: "unlock is repeated until the key of a late lock has expired", beats: []beat{
			{enter("a"), "lock #1"},
			{later(1900 * time.Millisecond), ""},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{release("a"), "a ends: released; unlock #1"},
			{sleep(13100 * time.Millisecond), "release of a: unknown"},
			{sleep(1800 * time.Millisecond), "unlock #1"},
			{sleep(10 * time.Second), ""},
		}},
		{name: "and of a late renewal", given: aHolds, beats: []beat{
			{sleep(5 * time.Second), "listen; renew #1"},
			{later(2900 * time.Millisecond), ""},
			{answer("renew", renewed()), ""},
			{release("a"), "a ends: released; unlock #1"},
			{sleep(12100 * time.Millisecond), "release of a: unknown"},
			{sleep(2800 * time.Millisecond), "unlock #1"},
			{sleep(10 * time.Second), ""},
		}},
		{name: "nothing is left to wake up for", given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", released()), "release of a: ok"},
			{func(y *play) { y.say("sleeps: %v", time.Until(y.p.Schedule.Wakes()) > time.Minute) }, "sleeps: true"},
		}},
	})
}
