package machine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Rule 3: an id that is given up is cancelled.
func TestRuleGivenUpIsCancelled(t *testing.T) {
	queuedBy := func(holder string) wire.Answer {
		a := inQueue(0)
		a.Holder = holder
		return a
	}
	perform(t, []scene{
		{name: "a lock that waits", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{answer("lock", inQueue(0)), "cancel #1"},
			{answer("cancel", released()), "#1 is gone"},
		}},
		{name: "the last of two callers", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{enter("b"), ""},
			{answer("lock", inQueue(0)), ""},
			{leave("a"), ""},
			{leave("b"), "cancel #1"},
		}},
		{name: "again after each answer that shows it", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), ""},
			{answer("lock", granted(1, 8)), "cancel #1"},
			{answer("cancel", released()), "#1 is gone"},
			{answer("lock", wire.Answer{Word: wire.Again}), "cancel #1"},
			{answer("cancel", released()), ""},
			{answer("lock", heldByAnother()), ""},
		}},
		{name: "again after a push", given: aWaits, beats: []beat{
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), "#1 is gone"},
			{grantPushed("#1", 1, 8, time.Second), "cancel #1"},
		}},
		{name: "while its unlock is not answered", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{release("a"), "a ends: released; unlock #1"},
			{answer("lock", inQueue(0)), "cancel #1"},
		}},
		{name: "an id that an unlock queues", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{leave("b"), ""},
			{answer("unlock", inQueue(0)), "release of a: ok; cancel #2"},
			{answer("cancel", released()), "#2 is gone"},
		}},
		{name: "a lock without an answer may come later", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{wait(2 * time.Second), ""},
			{fail("lock", wire.ErrNoAnswer), ""},
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), ""},
			{wait(2 * time.Second), "cancel #1"},
			{answer("cancel", released()), ""},
			{wait(3 * time.Second), "cancel #1"},
		}},
		{name: "but not for ever", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{wait(2 * time.Second), ""},
			{fail("lock", wire.ErrNoAnswer), ""},
			{leave("a"), "cancel #1"},
			{func(y *play) {
				for range 12 {
					answer("cancel", released())(y)
					sleep(5 * time.Minute)(y)
				}
				y.calls = []string{fmt.Sprint("cancelled ", strings.Count(strings.Join(y.calls, ";"), "cancel"), " times more")}
			}, "cancelled 7 times more"},
		}},
		{name: "a lock that failed in the network does not", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{fail("lock", errNetwork), ""},
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), ""},
			{wait(time.Minute), ""},
		}},
		{name: "until it is answered", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{fail("cancel", errNetwork), ""},
			{wait(20 * time.Millisecond), "cancel #1"},
			{answer("cancel", released()), ""},
			{wait(time.Minute), ""},
		}},
		{name: "only the answer to the newest cancel counts", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{answer("lock", inQueue(0)), "cancel #1"},
			{answer("cancel 1", released()), ""},
			{answer("cancel 2", released()), "#1 is gone"},
		}},
		{name: "an id has one cancel at a time", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{answer("lock", inQueue(0)), "cancel #1"},
			{fail("cancel 1", errNetwork), ""},
			{wait(time.Second), ""},
		}},
		{name: "a lock that fails may have run after its cancel", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), ""},
			{fail("lock", errNetwork), "cancel #1"},
		}},
		{name: "as long as the queue lives", settings: Settings{TTL: time.Second}, beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{later(59 * time.Second), ""},
			{fail("cancel", errNetwork), ""},
			{wait(20 * time.Millisecond), "cancel #1"},
		}},
		{name: "an id of another life that holds the name", given: aHoldsSubscribed, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", released()), "release of a: ok"},
			{enter("b"), "lock #2 wait 0"},
			{func(y *play) { answer("lock", queuedBy(y.id("#1")))(y) }, "cancel #1"},
		}},
		{name: "but no id that it does not remember", beats: []beat{
			{confirmed, ""},
			{enter("b"), "lock #1 wait 0"},
			{func(y *play) { answer("lock", queuedBy(y.p.idPrefix+"BBBBBBBBBBB.15000|clone"))(y) }, ""},
		}},
		{name: "nor one that is over and not released", given: aHoldsSubscribed, beats: []beat{
			{sleep(15 * time.Second), "a ends: lost: expired"},
			{enter("b"), "lock #2 wait 0"},
			{func(y *play) { answer("lock", queuedBy(y.id("#1")))(y) }, ""},
		}},
		{name: "nor a try that was refused", beats: []beat{
			{enter("try"), "lock #1"},
			{answer("lock", heldByAnother()), "try: held by another"},
		}},
		{name: "nor a lock that was refused before it wrote", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{fail("lock", driver.ServerError("WRONGTYPE a list")), "a: holdfast: n: another program or another kind of lock uses the key holdfast:n, or a key derived from it; use another name or prefix: WRONGTYPE a list"},
		}},
		{name: "but one that was refused later", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{fail("lock", driver.ServerError("ERR of another sort")), "a: holdfast: n: ERR of another sort; cancel #1"},
		}},
	})
}
