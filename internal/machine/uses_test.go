package machine

import (
	"slices"
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
		{func(y *play) { y.say("%v", y.waiters["a"].Failure()) }, "connection reset"},
		{answer("lock", granted(1, 8)), "a gets 1"},
		{func(y *play) { y.say("%v", y.waiters["a"].Failure()) }, "<nil>"},
		{enter("b"), "listen"},
		{use, "in use: true; n: held 1, waiting 1"},
		{leave("b"), ""},
		{release("a"), "a ends: released; unlock #1"},
		{use, "in use: true"},
		{answer("unlock", released()), "release of a: ok"},
		{use, "in use: false"},
	}}})
}

// Each name of a group gets its part of the answer.
func TestShareOf(t *testing.T) {
	for _, test := range []struct {
		reply []string
		want  [2][]string // of two names; nil: an error
	}{
		{[]string{"granted 1 8", "granted 5 8"}, [2][]string{{"granted 1 8"}, {"granted 5 8"}}},
		{[]string{"not all", "2", "held", "x"}, [2][]string{{"passed"}, {"held", "x"}}},
		{[]string{"granted 1 8"}, [2][]string{}},
	} {
		for i, want := range test.want {
			got, err := ShareOf(test.reply, i, 2)
			if !slices.Equal(got, want) || (err != nil) != (want == nil) {
				t.Errorf("%q: the part of name %d is %q, %v; want %q", test.reply, i, got, err, want)
			}
		}
	}
}
