package machine

import (
	"testing"
)

// What is shown of the names in use.
func TestNamesInUse(t *testing.T) {
	use := func(y *play) {
		y.say("in use: %v", y.p.InUse())
		y.p.Each(func(name string, held, waiting int) { y.say("%s: held %d, waiting %d", name, held, waiting) })
	}
	perform(t, []scene{{name: "a name", beats: []beat{
		{use, "in use: false"},
		{enter("a"), "lock #1"},
		{use, "in use: true; n: held 0, waiting 1"},
		{fail("lock", errNetwork), ""},
		{func(y *play) { y.say("%v", y.waiters["a"].Outage(y.now)) }, "connection reset"},
		{answer("lock", granted(1, 8)), "a gets 1"},
		{func(y *play) { y.say("%v", y.waiters["a"].Outage(y.now)) }, "<nil>"},
		{enter("b"), "listen"},
		{use, "in use: true; n: held 1, waiting 1"},
		{leave("b"), ""},
		{release("a"), "a ends: released; unlock #1"},
		{use, "in use: true"},
		{answer("unlock", released()), "release of a: ok"},
		{use, "in use: false"},
	}}})
}
