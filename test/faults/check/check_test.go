package check_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

const ms = int64(time.Millisecond)

var rules = check.Rules{TTL: 200 * time.Millisecond, Slack: 100 * time.Millisecond}

// record is a history made by hand. Times are in ms.
type record []history.Event

func (r record) with(events ...history.Event) record { return append(slices.Clone(r), events...) }

func (r record) read() *check.History {
	events := slices.Clone(r)
	for i := range events {
		e := &events[i]
		e.T *= ms
		e.Deadline *= ms
		if e.What == history.Stall {
			e.Version *= ms
		}
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
	return check.Read(events)
}

// wish begins a lease of A, B, C by the number of its attempt.
type wish struct {
	process  string
	attempt  int64
	weight   int64
	capacity int64
}

func (w wish) event(t int64, what history.What) history.Event {
	return history.Event{
		T: t, Process: w.process, What: what, Attempt: w.attempt, Name: "x",
		Kind: history.Mutex, Mode: history.Exclusive, Weight: cmp.Or(w.weight, 1), Capacity: cmp.Or(w.capacity, 1),
	}
}

func (w wish) asked(t int64) history.Event { return w.event(t, history.Ask) }

func (w wish) granted(t, token, deadline int64) history.Event {
	e := w.event(t, history.Granted)
	e.Token, e.Deadline = token, deadline
	return e
}

func (w wish) ends(t int64, what history.What, class history.Class) history.Event {
	e := w.event(t, what)
	e.Class = class
	return e
}

func (w wish) decided(t int64, what history.What, token, version, base int64) history.Event {
	e := w.event(t, what)
	e.Process, e.Token, e.Version, e.Base = "resource", token, version, base
	return e
}

var (
	a = wish{process: "A", attempt: 1}
	b = wish{process: "B", attempt: 2}
	c = wish{process: "C", attempt: 3}
)

// whole is a lease from its beginning to its end.
func whole(w wish, from, to, token int64) []history.Event {
	return []history.Event{
		w.asked(from - 5), w.granted(from, token, from+200),
		w.ends(to, history.Release, ""), w.ends(to+1, history.Released, history.OK),
	}
}

func join(parts ...[]history.Event) record { return slices.Concat(parts...) }

// Each checker is silent about a history that is right, and speaks of one that is
// wrong.
func TestCheckers(t *testing.T) {
	two := join(whole(a, 10, 50, 100), whole(b, 60, 90, 200))
	killed := join(whole(a, 10, 50, 100)[:2], []history.Event{{T: 30, Process: "A", What: history.Crash}})
	died := join(whole(a, 10, 50, 100)[:2], []history.Event{b.asked(20), {T: 150, Process: "A", What: history.Crash}, {T: 250, Process: "B", What: history.Crash}})
	renewed := []history.Event{{T: 20, Process: "A", What: history.Renewed, Attempt: 1, Name: "x", Deadline: 220}}
	part := func(w wish, weight int64) wish { w.weight, w.capacity = weight, 3; return w }
	several := func(w wish, name string, at int64) history.Event {
		e := w.asked(at)
		e.Kind, e.Name, e.Attempt = history.Multi, name, int64(name[0])
		return e
	}
	named := func(name string) []history.Event { // C holds it all the time
		events := []history.Event{c.asked(2), c.granted(3, 9, 950)}
		for i := range events {
			events[i].Name = name
		}
		return events
	}
	longY, longW := named("y"), named("w")
	quiet := rules
	quiet.Quiet = true
	calm := rules
	calm.Calm = true
	loses := rules
	loses.Loses = true

	tests := []struct {
		name  string
		check func(*check.History, check.Rules) []check.Violation
		rules check.Rules
		right record
		wrong record
	}{
		{"one after the other", check.Exclusion, rules, two, join(whole(a, 10, 50, 100), whole(b, 49, 90, 200))},
		{"after the deadline of the dead", check.Exclusion, rules,
			join(killed, whole(b, 211, 220, 200)), join(killed, whole(b, 209, 220, 200))},
		{"a renewal moves the deadline", check.Exclusion, rules,
			join(killed, renewed, whole(b, 221, 230, 200)), join(killed, renewed, whole(b, 211, 230, 200))},
		{"permits", check.Exclusion, rules,
			join(whole(part(a, 1), 10, 50, 1), whole(part(b, 2), 20, 50, 2), whole(part(c, 1), 51, 60, 3)),
			join(whole(part(a, 1), 10, 50, 1), whole(part(b, 2), 20, 50, 2), whole(part(c, 1), 49, 60, 3))},
		{"a loss is known by the next renewal", check.Known, loses,
			join(killed, whole(b, 15, 220, 200), []history.Event{{T: 90, Process: "A", What: history.Renewed, Attempt: 1, Name: "x", Deadline: 214}}),
			join(killed, whole(b, 15, 220, 200), []history.Event{{T: 90, Process: "A", What: history.Renewed, Attempt: 1, Name: "x", Deadline: 216}})},
		{"a grant that is heard late is the older one", check.Known, loses,
			join(killed, []history.Event{b.asked(2), b.granted(15, 20, 205)}, []history.Event{{T: 90, Process: "A", What: history.Renewed, Attempt: 1, Name: "x", Deadline: 216}}),
			join(killed, whole(b, 15, 220, 200), []history.Event{{T: 90, Process: "A", What: history.Renewed, Attempt: 1, Name: "x", Deadline: 216}})},
		{"a push after a jump of the clock lasts from when it came", check.Known, check.Rules{TTL: rules.TTL, Loses: true, Jumps: true},
			join([]history.Event{c.asked(2), c.granted(15, 30, 212), b.asked(3), b.granted(40, 20, 238)}),
			join([]history.Event{c.asked(2), c.granted(15, 30, 212), b.asked(3), b.granted(40, 20, 242)})},
		{"tokens are unique", check.Tokens, loses, two, join(whole(a, 10, 50, 100), whole(b, 60, 90, 100))},
		{"tokens rise", check.Tokens, rules, two, join(whole(a, 10, 50, 100), whole(b, 60, 90, 99))},
		{"the fence holds", check.Fence, rules,
			join([]history.Event{a.decided(1, history.Advance, 7, 0, 0), a.decided(2, history.Accept, 7, 1, 0), b.decided(3, history.Advance, 8, 1, 0), a.decided(4, history.Refuse, 7, 8, 0)}),
			join([]history.Event{a.decided(1, history.Advance, 7, 0, 0), b.decided(3, history.Advance, 8, 0, 0), a.decided(4, history.Accept, 7, 1, 0)})},
		{"the fence refuses nobody who is well", check.Fence, rules,
			join([]history.Event{a.decided(1, history.Advance, 7, 0, 0), a.decided(2, history.Accept, 7, 1, 0)}),
			join([]history.Event{a.decided(1, history.Advance, 7, 0, 0), a.decided(2, history.Refuse, 7, 7, 0)})},
		{"no update is lost behind it", check.Fence, rules,
			join([]history.Event{a.decided(1, history.Accept, 7, 1, 0), b.decided(2, history.Accept, 8, 2, 1)}),
			join([]history.Event{a.decided(1, history.Accept, 7, 1, 0), b.decided(2, history.Accept, 8, 2, 0)})},
		{"no acknowledged add is lost", check.Adds, rules,
			join([]history.Event{a.decided(1, history.Accept, 7, 1, 0), a.ends(2, history.Write, history.OK), b.decided(3, history.Accept, 8, 2, 1)}),
			join([]history.Event{a.decided(1, history.Accept, 7, 1, 0), a.ends(2, history.Write, history.OK), b.decided(3, history.Accept, 8, 2, 0)})},
		{"nothing is left by the living", check.Leftovers, rules,
			join(killed, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "L", Deadline: 350, Detail: "held"}}),
			join(two, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "L", Deadline: 350, Detail: "held"}})},
		{"what the living leave on a node whose clock went back is held, not in line", check.Leftovers, check.Rules{TTL: rules.TTL, Lags: true},
			join(two, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "L", Deadline: 3600e9, Detail: "held"}}),
			join(two, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "Q", Deadline: 3600e9, Detail: "waits"}})},
		{"what the dead leave ends with a ttl", check.Leftovers, rules,
			join(killed, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "Q", Deadline: 3000, Detail: "waits"}}),
			join(killed, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "L", Deadline: 3000, Detail: "held"}})},
		{"what holders are found in lives 30 s longer", check.Leftovers, rules,
			join(killed, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "holdfast/holders:x", Deadline: 30300, Detail: "held"}}),
			join(killed, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "holdfast/holders:x", Deadline: 33000, Detail: "held"}})},
		{"no key lives for ever", check.Leftovers, rules, two,
			join(killed, []history.Event{{T: 300, Process: "A", What: history.Left, Name: "L", Detail: "held"}})},
		{"who waits gets it", check.Waiting, rules,
			join([]history.Event{{T: 1, What: history.Healed}}, killed, []history.Event{b.asked(20)}, whole(c, 330, 340, 7), []history.Event{b.granted(345, 9, 545), {T: 900, What: history.Stop}}),
			join([]history.Event{{T: 1, What: history.Healed}}, killed, []history.Event{b.asked(20), {T: 900, What: history.Stop}})},
		{"a Multi that waits may have the first name", check.Waiting, rules,
			join([]history.Event{{T: 1, What: history.Healed}, several(b, "x", 20), several(b, "y", 20), a.asked(20), {T: 900, What: history.Stop}}, longY),
			join([]history.Event{{T: 1, What: history.Healed}, several(b, "x", 20), several(b, "w", 20), {T: 900, What: history.Stop}})},
		{"it may wait for the first one", check.Waiting, rules,
			join([]history.Event{{T: 1, What: history.Healed}, several(b, "x", 20), several(b, "w", 20), {T: 900, What: history.Stop}}, longW),
			join([]history.Event{{T: 1, What: history.Healed}, several(b, "x", 20), several(b, "w", 20), {T: 900, What: history.Stop}})},
		{"a free name is not idle for longer than a second", check.Idle, calm,
			join(whole(a, 10, 50, 100), []history.Event{b.asked(20)}, whole(b, 1140, 1150, 200)[1:]),
			join(whole(a, 10, 50, 100), []history.Event{b.asked(20)}, whole(b, 1160, 1170, 200)[1:])},
		{"nor than what is left to the dead and a second", check.Idle, calm,
			join(killed, []history.Event{b.asked(20)}, whole(b, 1320, 1330, 200)[1:]),
			join(killed, []history.Event{b.asked(20)}, whole(b, 1340, 1350, 200)[1:])},
		{"a waiter that dies may have had the name, unheard", check.Idle, calm,
			join(died, []history.Event{c.asked(290)}, whole(c, 1520, 1530, 200)[1:]),
			join(died, []history.Event{c.asked(290)}, whole(c, 1650, 1660, 200)[1:])},
		{"what a process says of its own freeze is no standstill", check.Idle, calm,
			join(whole(a, 10, 50, 100), []history.Event{b.asked(20), {T: 900, Process: "C", What: history.Stall, Version: 500}}, whole(b, 1640, 1650, 200)[1:]),
			join(whole(a, 10, 50, 100), []history.Event{b.asked(20), {T: 400, Process: "C", What: history.Freeze}, {T: 900, Process: "C", What: history.Thaw}, {T: 900, Process: "C", What: history.Stall, Version: 500}}, whole(b, 1640, 1650, 200)[1:])},
		{"where servers are hit, from when all is well, and a ttl longer", check.Idle, rules,
			join([]history.Event{{T: 100, What: history.Healed}}, whole(a, 10, 50, 100), []history.Event{b.asked(20)}, whole(b, 1490, 1500, 200)[1:]),
			join([]history.Event{{T: 100, What: history.Healed}}, whole(a, 10, 50, 100), []history.Event{b.asked(20)}, whole(b, 1510, 1520, 200)[1:])},
		{"nobody is served before who came earlier", check.InOrder, calm,
			join(whole(c, 10, 390, 100), []history.Event{a.asked(20), b.asked(269)}, whole(b, 400, 410, 200)[1:], whole(a, 430, 440, 300)[1:]),
			join(whole(c, 10, 390, 100), []history.Event{a.asked(20), b.asked(271)}, whole(b, 400, 410, 200)[1:], whole(a, 430, 440, 300)[1:])},
		{"nor is it checked where servers are hit", check.InOrder, rules,
			join(whole(c, 10, 390, 100), []history.Event{a.asked(20), b.asked(271)}, whole(b, 400, 410, 200)[1:], whole(a, 430, 440, 300)[1:]), nil},
		{"errors are of stated kinds", check.Errors, rules,
			join([]history.Event{a.asked(1), a.ends(2, history.Failed, history.Unreachable)}),
			join([]history.Event{a.asked(1), a.ends(2, history.Failed, history.Other)})},
		{"a fault does not outlast itself", check.Recovered, rules,
			join([]history.Event{{T: 1, What: history.Healed}, a.asked(1600), a.ends(1650, history.Failed, history.Unreachable)}),
			join([]history.Event{{T: 1, What: history.Healed}, a.asked(1602), a.ends(1650, history.Failed, history.Unreachable)})},
		{"closing goes well", check.Recovered, rules,
			join([]history.Event{{T: 1, What: history.Healed}, a.ends(9, history.Stop, history.OK)}),
			join([]history.Event{{T: 1, What: history.Healed}, a.ends(9, history.Stop, history.Unreachable)})},
		{"no errors without faults", check.Errors, quiet,
			join([]history.Event{a.asked(1), a.ends(2, history.Failed, history.Cancelled)}),
			join([]history.Event{a.asked(1), a.ends(2, history.Failed, history.Unreachable)})},
	}
	for _, test := range tests {
		if got := test.check(test.right.read(), test.rules); len(got) != 0 {
			t.Errorf("%s: the right history: got %v", test.name, got)
		}
		if got := test.check(test.wrong.read(), test.rules); test.wrong != nil && len(got) != 1 {
			t.Errorf("%s: the wrong history: got %v, want one violation", test.name, got)
		}
	}
}

// The register without a fence is checked only where both writers held.
func TestUnfenced(t *testing.T) {
	write := func(w wish, at, free, of int64) history.Event {
		e := w.decided(at, history.Accept, 7, 0, 0)
		e.Free, e.FreeOf = free, of
		return e
	}
	both := join(whole(a, 10, 50, 100), whole(b, 20, 50, 200))
	late := join(whole(a, 10, 50, 100), whole(b, 60, 90, 200))
	writes := []history.Event{write(a, 30, 1, 0), write(b, 40, 2, 0)}
	if got := check.Unfenced(both.with(writes...).read(), rules); len(got) != 1 {
		t.Errorf("two who held: got %v, want one violation", got)
	}
	writes = []history.Event{write(a, 61, 1, 0), write(b, 70, 2, 0)}
	if got := check.Unfenced(late.with(writes...).read(), rules); len(got) != 0 {
		t.Errorf("one who wrote too late: got %v, want none: that is what the fence is for", got)
	}
}

// A context may end so late after the deadline and no later, where its process
// ran.
func TestContexts(t *testing.T) {
	ended := func(at int64) record {
		return join(whole(a, 10, 400, 100), []history.Event{a.ends(at, history.Over, history.Expired)})
	}
	for _, test := range []struct {
		name        string
		of          record
		ended, late int
	}{
		{"in time", ended(229), 1, 0},
		{"late", ended(231), 1, 1},
		{"stalled", ended(300).with(history.Event{T: 290, Process: "A", What: history.Stall, Version: 80}), 0, 0},
		{"frozen", ended(300).with(history.Event{T: 100, Process: "A", What: history.Freeze}, history.Event{T: 299, Process: "A", What: history.Thaw}), 0, 0},
	} {
		n, late := check.Contexts(test.of.read())
		if n != test.ended || len(late) != test.late {
			t.Errorf("%s: got %d ended and %d late, want %d and %d", test.name, n, len(late), test.ended, test.late)
		}
	}
}

// Contexts that end late together are one case; those of another process, or of another
// time, are others.
func TestMoments(t *testing.T) {
	at := func(process string, ms int64) *check.Lease {
		return &check.Lease{Event: history.Event{Process: process}, Over: ms * int64(time.Millisecond)}
	}
	late := []*check.Lease{at("A", 900), at("A", 30), at("A", 10), at("B", 20), at("A", 20)}
	if got := check.Moments(late); got != 3 {
		t.Errorf("got %d, want 3: A at 10 to 30 ms and at 900, B at 20", got)
	}
	if got := check.Moments(nil); got != 0 {
		t.Errorf("of none: got %d", got)
	}
}
