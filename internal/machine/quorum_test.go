package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// A quorum has no queue: waiters poll, and leave a name to other Clients.
func TestQuorum(t *testing.T) {
	polls := heldByAnother()
	polls.PollIn = 30 * time.Millisecond
	perform(t, []scene{
		{name: "each try has a new id", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", polls), ""},
			{wait(29 * time.Millisecond), ""},
			{wait(time.Millisecond), "lock #2 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{release("a"), "a ends: released; unlock #2"},
			{answer("unlock", released()), "release of a: ok"},
		}},
		{name: "a try that was given up", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{leave("a"), "cancel #1"},
			{answer("lock", granted(1, 8)), ""},
		}},
		{name: "a tenure serves the waiters of its grant", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{enter("b"), ""},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("c"), ""},
			{release("a"), "a ends: released; b gets 2"},
			{release("b"), "b ends: released; unlock #1"},
			{answer("unlock", released()), "release of b: ok; lock #2 wait 0"},
		}},
		{name: "as far as its tokens last", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{enter("b"), ""},
			{answer("lock", granted(1, 1)), "a gets 1"},
			{release("a"), "a ends: released; unlock #1"},
		}},
		{name: "a caller leaves the name to another Client", quorum: true, beats: []beat{
			{leaveAlone(50 * time.Millisecond), ""},
			{enter("a"), ""},
			{wait(50 * time.Millisecond), "lock #1 wait 0"},
		}},
		{name: "so does a try", quorum: true, beats: []beat{
			{leaveAlone(50 * time.Millisecond), ""},
			{enter("try"), ""},
			{wait(50 * time.Millisecond), "lock #1"},
		}},
		{name: "and so does a waiter behind a release", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), ""},
			{release("a"), "a ends: released; unlock #1"},
			{leaveAlone(50 * time.Millisecond), ""},
			{answer("unlock", released()), "release of a: ok"},
			{wait(50 * time.Millisecond), "lock #2 wait 0"},
		}},
		{name: "a caller behind a try asks at once", quorum: true, beats: []beat{
			{enter("try"), "lock #1"},
			{enter("a"), ""},
			{answer("lock", polls), "try: held by another; lock #2 wait 0"},
			{answer("lock", polls), ""},
		}},
		{name: "a majority answers an earlier unlock", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{release("a"), "a ends: released; unlock #1"},
			{fail("unlock", errNetwork), ""},
			{wait(20 * time.Millisecond), "unlock #1"},
			{answer("unlock 1", wire.Answer{Word: wire.NotHeld}), ""},
			{answer("unlock 1", released()), "release of a: ok"},
		}},
		{name: "no majority answers", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{fail("lock", errNetwork), ""},
			{wait(20 * time.Millisecond), "lock #2 wait 0"},
		}},
		{name: "too slow", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", wire.Answer{Word: wire.TooSlow}), "a: too slow"},
		}},
	})
}
