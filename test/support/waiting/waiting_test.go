package waiting_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/waiting"
)

const ms = int64(time.Millisecond)

var rules = waiting.Rules{Base: time.Second, Each: 50 * time.Millisecond, Window: 2 * time.Second, Lost: 2 * time.Second, Abreast: 60 * time.Millisecond}

// call is one of a Client that asks, is granted, and gives back, in ms; granted at 0: it waits
// until left, and dies then if dead.
func call(client string, asked, got, left int64) *waiting.Call {
	c := &waiting.Call{Client: client, Place: client, Weight: 1, Asked: asked * ms, Until: got * ms, Got: got * ms, Left: left * ms, Token: got * 1000}
	if got == 0 {
		c.Until, c.Left = left*ms, 0
	}
	return c
}

func dead(c *waiting.Call) *waiting.Call { c.Dead = true; return c }

func own(c *waiting.Call, token int64) *waiting.Call { c.Own, c.Token = true, token; return c }

func name(calls ...*waiting.Call) *waiting.Name {
	return &waiting.Name{Capacity: 1, Calls: calls, Frozen: map[string][]waiting.Span{}, To: 1_000_000 * ms}
}

func (n frozen) of(client string, from, to int64) *waiting.Name {
	n.Frozen[client] = append(n.Frozen[client], waiting.Span{From: from * ms, To: to * ms})
	return n.Name
}

type frozen struct{ *waiting.Name }

// Each bound holds to the millisecond: a time at the bound passes, and one beyond it is found.
func TestIdle(t *testing.T) {
	many := func(got int64) *waiting.Name {
		n := name(call("A", 0, 1, 100), call("Z", 3000, 0, 0))
		n.Calls[1] = call("Z", 90, got, got+10)
		for i := range int64(20) {
			n.Calls = append(n.Calls, dead(call(fmt.Sprint("D", i), 10+i, 0, 50)))
		}
		return n
	}
	shared := func(weight, got int64) *waiting.Name {
		n := name(call("A", 0, 1, 60_000), call("B", 90, got, got+10))
		n.Capacity, n.Calls[1].Weight = 3, weight
		return n
	}
	for _, test := range []struct {
		what   string
		at     func(got int64) *waiting.Name // with a waiter that is granted the name then
		latest int64
	}{
		{"a free name", func(got int64) *waiting.Name { return name(call("A", 0, 1, 100), call("B", 90, got, got+10)) }, 1100},
		{"from when somebody asks", func(got int64) *waiting.Name { return name(call("A", 0, 1, 100), call("B", 500, got, got+10)) }, 1500},
		{"50 ms for each of the dead in front", many, 2100},
		{"the dead that were passed stand in front of nobody", func(got int64) *waiting.Name {
			n := many(150)
			n.Calls = append(n.Calls, call("B", 200, got, got+10))
			return n
		}, 1200},
		{"no time for the living in front, of whom one is the first", func(got int64) *waiting.Name {
			return name(call("A", 0, 1, 100), call("B", 80, got, got+10), call("C", 90, got+20, got+30))
		}, 1100},
		{"a claim window and a place for a frozen Client", func(got int64) *waiting.Name {
			return frozen{name(call("A", 0, 1, 100), call("F", 50, 0, 90_000), call("B", 90, got, got+10))}.of("F", 95, 95_000)
		}, 3150},
		{"none for a frozen Client that does not wait", func(got int64) *waiting.Name {
			return frozen{name(call("A", 0, 1, 100), call("B", 90, got, got+10))}.of("F", 95, 60_000)
		}, 1100},
		{"a claim window once", func(got int64) *waiting.Name {
			return frozen{name(call("A", 0, 1, 100), call("F", 50, 0, 90_000), call("B", 90, 3000, 3010), call("C", 3000, got, got+10))}.of("F", 95, 95_000)
		}, 3010 + 1050 + 150},
		{"the frozen waiter itself is none", func(got int64) *waiting.Name {
			return frozen{name(call("A", 0, 1, 100), call("B", 90, got, got+10))}.of("B", 95, 60_000)
		}, 61_000},
		{"a loss of the queue, once", func(got int64) *waiting.Name {
			n := name(call("A", 0, 1, 100), call("B", 90, got, got+10))
			n.Lost = []int64{50 * ms}
			return n
		}, 3100},
		{"a standstill", func(got int64) *waiting.Name {
			n := name(call("A", 0, 1, 100), call("B", 90, got, got+10))
			n.Still = []waiting.Span{{From: 50 * ms, To: 400 * ms}, {From: 300 * ms, To: 500 * ms}}
			return n
		}, 1500},
		{"what is in doubt is not free", func(got int64) *waiting.Name {
			n := name(call("A", 0, 1, 100), call("B", 90, got, got+10))
			n.Doubt = []waiting.Span{{From: 50 * ms, To: 700 * ms}}
			return n
		}, 1700},
		{"a part that fits", func(got int64) *waiting.Name { return shared(2, got) }, 1090},
		{"a part that does not fit", func(got int64) *waiting.Name { return shared(3, got) }, 61_000},
	} {
		if found, _ := test.at(test.latest).Idle(rules); len(found) != 0 {
			t.Errorf("%s: granted at the bound: got %+v, want nothing", test.what, found)
		}
		if found, longest := test.at(test.latest + 1).Idle(rules); len(found) != 1 || longest < found[0].Length {
			t.Errorf("%s: granted 1 ms later: got %+v, longest %v, want one breach", test.what, found, longest)
		}
	}
}

// A waiter may see those served who came before it, and no others.
func TestOvertaken(t *testing.T) {
	local := func(asked int64) *waiting.Name { // B's tenure began before A asked, and serves one who came then
		second := call("B", asked, 300, 350)
		second.Token = 10_001
		return name(call("B", 0, 10, 300), call("A", 100, 400, 450), second)
	}
	tenures := func(n int64) *waiting.Name {
		all := name(call("A", 0, 5000, 5010))
		for i := range n {
			all.Calls = append(all.Calls, call("C", 20+i, 110+20*i, 115+20*i), call("B", 20+i, 120+20*i, 130+20*i))
		}
		return all
	}
	for _, test := range []struct {
		what         string
		right, wrong *waiting.Name
		grants       int
	}{
		{"in order", name(call("B", 0, 10, 20), call("A", 0, 30, 40)), name(call("Z", 0, 1, 350), call("A", 10, 400, 410), call("B", 100, 360, 390)), 0},
		{"abreast", name(call("Z", 0, 1, 100), call("A", 0, 400, 410), call("B", 60, 300, 390)), name(call("Z", 0, 1, 100), call("A", 0, 400, 410), call("B", 61, 300, 390)), 0},
		{"local waiters that were there when the tenure began", local(9), local(161), 0},
		{"two tenures of another Client", tenures(2), tenures(3), 0},
		{"calls with places of their own", name(own(call("A", 0, 400, 410), 5), own(call("B", 100, 300, 310), 6)), name(own(call("A", 0, 400, 410), 7), own(call("B", 100, 300, 310), 6)), 0},
		{"ten grants without a queue", tenures(10), tenures(11), 10},
	} {
		r := rules
		r.Grants = test.grants
		if got := test.right.Overtaken(r); len(got) != 0 {
			t.Errorf("%s: the right one: got %+v", test.what, got)
		}
		if got := test.wrong.Overtaken(r); len(got) == 0 {
			t.Errorf("%s: the wrong one: got nothing", test.what)
		}
	}
}

// A client that is frozen while it waits, or stands still for a claim window, may have lost its place.
func TestOvertakenWhileStill(t *testing.T) {
	calls := []*waiting.Call{call("Z", 0, 1, 350), call("A", 10, 4000, 4100), call("B", 100, 360, 390)}
	if got := name(calls...).Overtaken(rules); len(got) != 1 {
		t.Errorf("got %+v, want one", got)
	}
	if got := (frozen{name(calls...)}).of("A", 50, 90).Overtaken(rules); len(got) != 0 {
		t.Errorf("frozen: got %+v, want none", got)
	}
	n := name(calls...)
	n.Still = []waiting.Span{{From: 100 * ms, To: 1200 * ms}}
	if got := n.Overtaken(rules); len(got) != 0 {
		t.Errorf("standing still: got %+v, want none", got)
	}
}

// Without a queue, grants to others count only while no process stands still: one that gets no
// processor time does not poll.
func TestGrantsWhileStill(t *testing.T) {
	r := rules
	r.Grants = 2
	a, others := call("A", 0, 400, 410), []*waiting.Call{call("B", 10, 20, 25), call("B", 30, 40, 45), call("B", 50, 60, 65)}
	n := name(append(others, a)...)
	if got := n.Overtaken(r); len(got) != 1 || got[0].Count != 3 {
		t.Errorf("got %+v, want one of 3 grants", got)
	}
	n.Still = []waiting.Span{{From: 55 * ms, To: 200 * ms}}
	if got := n.Overtaken(r); len(got) != 0 {
		t.Errorf("standing still: got %+v, want none", got)
	}
}
