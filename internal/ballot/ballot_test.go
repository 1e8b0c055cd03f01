package ballot_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	ttl     = 9 * time.Second
	attempt = 2 * time.Second
	trip    = 10 * time.Millisecond
)

var (
	errGone  = errors.New("connection refused")
	errRight = driver.ServerError("NOPERM no")
)

// world is three nodes that answer what a test says, and the user of their ballot.
type world struct {
	t       *testing.T
	b       *ballot.Ballot
	now     clock.Instant
	open    []*ballot.Call // not answered yet
	answers []string       // since the last look
	pollIn  time.Duration
	failed  int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	random := func(d time.Duration) time.Duration { return d / 2 }
	w.b = ballot.New(ballot.Settings{ID: "q/1/3-0", Nodes: 3, Attempt: attempt, Random: random}, w)
	return w
}

func (w *world) Send(c *ballot.Call) { w.open = append(w.open, c) }

func (w *world) Failed(string, *ballot.Call, error) { w.failed++ }

func (w *world) Answer(r *ballot.Request, a wire.Answer, err error, _ clock.Instant) {
	said, final := a.Word.String(), &wire.Final{}
	switch {
	case errors.As(err, new(*ballot.Denied)):
		said = "denied, final: false"
	case errors.As(err, &final):
		said = "denied, final: true"
		if errors.Is(final.Sentinel, wire.ErrVersion) {
			said = "another version"
		}
	case err != nil:
		said = err.Error()
	}
	w.pollIn = a.PollIn
	w.answers = append(w.answers, strings.TrimSpace(fmt.Sprint(r.For, ": ", said, " ", a.Holder)))
}

func place(name string) *ballot.Place { return ballot.NewPlace(name, keyspace.KeysBeside(name), ttl) }

// ask asks for an id, which begins with one letter for its place.
func (w *world) ask(kind ballot.Op, id string, at *ballot.Place) {
	w.b.Ask(&ballot.Request{Op: kind, ID: id, Place: at, Sent: w.now, Attempt: attempt, Waits: true, Owned: true, For: id})
}

// from answers the oldest call of a script to each of these nodes.
func (w *world) from(s string, a wire.Answer, err error, nodes ...int) {
	w.t.Helper()
	for _, n := range nodes {
		i := slices.IndexFunc(w.open, func(c *ballot.Call) bool { return c.Node == n && c.Script.Name == "quorum_"+s })
		if i < 0 {
			w.t.Fatalf("%s was not sent to node %d", s, n)
		}
		c := w.open[i]
		w.open = slices.Delete(w.open, i, i+1)
		a.Run = fmt.Sprint("run", n)
		w.b.Answered(c, a, err, w.now)
	}
}

// after moves the time on.
func (w *world) after(d time.Duration) {
	w.now = w.now.Add(d)
	w.b.Tick(w.now)
}

// expect compares the answers since the last time.
func (w *world) expect(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.answers, want) {
		w.t.Errorf("answers are %q, want %q", w.answers, want)
	}
	w.answers = nil
}

// sent compares the calls that are open: their scripts, and to which nodes.
func (w *world) sent(want ...string) {
	w.t.Helper()
	got := []string{}
	for _, c := range w.open {
		got = append(got, fmt.Sprint(strings.TrimPrefix(c.Script.Name, "quorum_"), " ", c.Node))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		w.t.Errorf("calls under way are %q, want %q", got, want)
	}
}

func granted(token int64) wire.Answer { return wire.Answer{Word: wire.Granted, Base: token} }

func heldBy(id string) wire.Answer {
	return wire.Answer{Word: wire.Held, Holder: id, PTTL: 40 * time.Millisecond}
}

func word(w wire.Word) wire.Answer { return wire.Answer{Word: w} }

// held has a tenure that all nodes have granted.
func (w *world) held(id string, at *ballot.Place) {
	w.t.Helper()
	w.ask(ballot.Lock, id, at)
	w.after(trip)
	w.from("lock", granted(100), nil, 0, 1, 2)
	w.expect(id + ": granted")
}

// What the answers of three nodes mean for a renewal, or for the question whether the name is
// held.
func TestRenew(t *testing.T) {
	lost := wire.Answer{Word: wire.Lost}
	taken := wire.Answer{Word: wire.Lost, Holder: "b:1"}
	ours := wire.Answer{Word: wire.Ours, PTTL: time.Second}
	for name, test := range map[string]struct {
		kind    ballot.Op
		answers func(w *world)
		want    string
		sent    []string
	}{
		"a majority":  {ballot.Renew, func(w *world) { w.from("renew", word(wire.Renewed), nil, 0, 1) }, "a: renewed", []string{"renew 2"}},
		"one lost it": {ballot.Renew, func(w *world) { w.from("renew", lost, nil, 2); w.from("renew", word(wire.Renewed), nil, 0, 1) }, "a: renewed", []string{"repair 2"}},
		"one is repaired late": {ballot.Renew, func(w *world) {
			w.from("renew", word(wire.Renewed), nil, 0, 1)
			w.from("renew", lost, nil, 2)
		}, "a: renewed", []string{"repair 2"}},
		"one was taken": {ballot.Renew, func(w *world) { w.from("renew", taken, nil, 2); w.from("renew", word(wire.Renewed), nil, 0, 1) }, "a: renewed", nil},
		"lost":          {ballot.Renew, func(w *world) { w.from("renew", lost, nil, 0, 1) }, "a: lost", []string{"renew 2", "unlock 0", "unlock 1", "unlock 2"}},
		"taken":         {ballot.Renew, func(w *world) { w.from("renew", lost, nil, 0); w.from("renew", taken, nil, 1) }, "a: lost b:1", []string{"renew 2", "unlock 0", "unlock 1", "unlock 2"}},
		"two are down": {ballot.Renew, func(w *world) {
			w.from("renew", word(wire.Renewed), nil, 0)
			w.from("renew", wire.Answer{}, errGone, 1, 2)
		}, "a: denied, final: false", nil},
		"two lost it": {ballot.Renew, func(w *world) {
			w.from("renew", word(wire.Renewed), nil, 0)
			w.from("renew", lost, nil, 1, 2)
		}, "a: lost", []string{"unlock 0", "unlock 1", "unlock 2"}},
		"ours":     {ballot.Held, func(w *world) { w.from("held", ours, nil, 0, 1) }, "a: ours", []string{"held 2"}},
		"not ours": {ballot.Held, func(w *world) { w.from("held", taken, nil, 0, 1) }, "a: lost b:1", []string{"held 2", "unlock 0", "unlock 1", "unlock 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, at := newWorld(t), place("x")
			w.held("a", at)
			w.ask(test.kind, "a", at)
			w.after(trip)
			test.answers(w)
			w.expect(test.want)
			w.sent(test.sent...)
		})
	}
}

// A repair that is answered when the tenure has ended is undone. After the deadline there is
// none.
func TestRepair(t *testing.T) {
	w, at := newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Renew, "a", at)
	w.from("renew", word(wire.Lost), nil, 2)
	w.from("renew", word(wire.Renewed), nil, 0, 1)
	w.ask(ballot.Unlock, "a", at)
	w.from("unlock", word(wire.Released), nil, 0, 1, 2)
	w.from("repair", word(wire.Repaired), nil, 2)
	w.expect("a: renewed", "a: released")
	w.sent("unlock 2")

	w, at = newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Renew, "a", at)
	w.now = w.now.Add(ttl)
	w.from("renew", word(wire.Lost), nil, 2)
	w.from("renew", word(wire.Renewed), nil, 0, 1)
	w.sent()

	w, at = newWorld(t), place("x") // the lease ends between the renewal and its answers
	w.held("a", at)
	w.now = w.now.Add(ttl*99/100 - 3*time.Millisecond - trip)
	w.ask(ballot.Renew, "a", at)
	w.now = w.now.Add(5 * time.Millisecond)
	w.from("renew", word(wire.Lost), nil, 2)
	w.from("renew", word(wire.Renewed), nil, 0, 1)
	w.sent()
}

// The name is released when a majority has confirmed. The others are asked again in the
// background, if they may not have been.
func TestUnlock(t *testing.T) {
	w, at := newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Unlock, "a", at)
	w.from("unlock", wire.Answer{}, errGone, 0)
	w.from("unlock", word(wire.Released), nil, 1)
	w.expect()
	w.from("unlock", word(wire.NotHeld), nil, 2)
	w.expect("a: released")
	w.sent("unlock 0")

	w, at = newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Unlock, "a", at)
	w.from("unlock", word(wire.Released), nil, 1)
	w.from("unlock", wire.Answer{}, errGone, 0, 2)
	w.expect("a: connection refused")
	w.sent()
	w.ask(ballot.Unlock, "a", at)
	w.sent("unlock 0", "unlock 2")
	w.from("unlock", wire.Answer{}, errRight, 0)
	w.from("unlock", word(wire.Released), nil, 2)
	w.expect("a: released")
	w.sent()
}

// A cleanup is repeated until it is confirmed, or the id has expired.
func TestUndo(t *testing.T) {
	w, at := newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Undo, "a", at)
	w.from("unlock", word(wire.Released), nil, 0)
	w.from("unlock", wire.Answer{}, errRight, 1)
	w.expect("a: released")
	if w.failed != 1 {
		t.Errorf("%d refusals were reported, want one", w.failed)
	}
	for range 4 {
		w.from("unlock", wire.Answer{}, errGone, 2)
		w.sent()
		w.after(time.Second)
		w.sent("unlock 2")
	}
	w.after(ttl)
	w.from("unlock", wire.Answer{}, errGone, 2)
	w.after(ttl)
	w.sent()
}

// A past id that a node still has is undone there, once at a time. An id that this Client does
// not know is not touched.
func TestStaleID(t *testing.T) {
	w, at := newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Unlock, "a", at)
	w.from("unlock", word(wire.Released), nil, 0, 1, 2)
	for _, id := range []string{"b", "c"} {
		w.ask(ballot.Lock, id, at)
		w.from("lock", heldBy("a:100"), nil, 0)
		w.from("lock", heldBy("d:100"), nil, 1, 2)
	}
	w.sent("unlock 0")
}

// A name that another Client waits for is left to it for as long as the nodes say, within bounds.
func TestNotBefore(t *testing.T) {
	for _, test := range []struct{ told, want time.Duration }{
		{-2 * time.Millisecond, 0},
		{30 * time.Millisecond, 35 * time.Millisecond},
		{time.Hour, 630 * time.Millisecond},
	} {
		w, at := newWorld(t), place("x")
		w.held("a", at)
		w.ask(ballot.Unlock, "a", at)
		w.from("unlock", wire.Answer{Word: wire.Released, PTTL: test.told}, nil, 0, 1)
		w.expect("a: released")
		got := w.b.NotBefore("x")
		if got > 0 {
			got -= w.now
		}
		if got != clock.Instant(test.want) {
			t.Errorf("told %v: left alone for %v, want %v", test.told, time.Duration(got), test.want)
		}
	}
}

// Two places of one Client do not wait for their own marks, so one leaves the name to the other.
func TestOtherPlaceOfTheClient(t *testing.T) {
	w, one, other := newWorld(t), place("x"), place("x")
	w.held("a", one)
	w.ask(ballot.Lock, "b", other)
	w.from("lock", heldBy("a:100"), nil, 0, 1, 2)
	w.ask(ballot.Unlock, "a", one)
	w.from("unlock", wire.Answer{Word: wire.Released, PTTL: -1}, nil, 0, 1)
	w.expect("b: held a", "a: released")
	if w.b.NotBefore("x") <= w.now {
		t.Error("the other place is not let in")
	}
}

// Close owes each node the end of what it may have, and of what comes back later.
func TestClose(t *testing.T) {
	w := newWorld(t)
	w.held("a", place("x"))
	w.ask(ballot.Lock, "b", place("y"))
	w.from("lock", wire.Answer{}, errGone, 2)
	if w.b.Busy(0) != 2 {
		t.Errorf("waits for %d nodes, want the two that have not answered", w.b.Busy(0))
	}
	w.b.Close(w.now)
	if next := w.b.Next(); next != clock.Never {
		t.Errorf("something is due at %d after Close", next)
	}
	owed := w.owed()
	if want := []string{"a 0", "a 1", "a 2", "b 0", "b 1", "b 2"}; !slices.Equal(owed, want) {
		t.Errorf("owed is %q, want %q", owed, want)
	}
	w.from("lock", granted(8), nil, 0)
	w.b.Dropped(w.open[0])
	w.ask(ballot.Lock, "c", place("z"))
	w.expect()
	if owed, want := w.owed(), []string{"b 0"}; !slices.Equal(owed, want) {
		t.Errorf("owed then is %q, want %q", owed, want)
	}
}

// An unlock that was not sent, or failed, when Close began may be the last of a lease.
func TestCloseOwesUnlocks(t *testing.T) {
	w, at := newWorld(t), place("x")
	w.held("a", at)
	w.ask(ballot.Unlock, "a", at)
	w.from("unlock", word(wire.Released), nil, 0)
	dropped, failed := w.open[0], w.open[1]
	w.b.Close(w.now)
	w.owed()
	w.b.Dropped(dropped)
	w.b.Answered(failed, wire.Answer{}, errGone, w.now)
	if owed, want := w.owed(), []string{"a 1", "a 2"}; !slices.Equal(owed, want) {
		t.Errorf("owed is %q, want %q", owed, want)
	}
}

// A node that was silent may yet get a lock of a try that was lost.
func TestCloseOwesSilentNodes(t *testing.T) {
	w, at := newWorld(t), place("x")
	w.held("z", place("z"))
	w.ask(ballot.Unlock, "z", place("z"))
	w.from("unlock", wire.Answer{}, errGone, 2)
	w.from("unlock", word(wire.Released), nil, 0, 1)
	w.from("unlock", word(wire.Released), nil, 2)
	w.b.Close(w.now)
	if owed := w.owed(); owed != nil {
		t.Errorf("owed is %q, want nothing", owed)
	}

	w = newWorld(t)
	w.ask(ballot.Lock, "z", place("z"))
	w.from("lock", wire.Answer{}, errGone, 2)
	w.from("lock", heldBy("b:1"), nil, 0, 1)
	w.ask(ballot.Lock, "a", at)
	w.after(trip)
	w.from("lock", heldBy("b:1"), nil, 0, 1)
	w.expect("z: held b", "a: held b")
	w.b.Close(w.now)
	if owed, want := w.owed(), []string{"a 2", "z 2"}; !slices.Equal(owed, want) {
		t.Errorf("owed is %q, want %q", owed, want)
	}
}

// Many calls in a moment do not make a node silent that had nothing to answer before.
func TestBurstIsNoSilence(t *testing.T) {
	w := newWorld(t)
	w.held("a", place("x"))
	w.after(10 * time.Second)
	for i := range ballot.MostCalls + 1 {
		name := fmt.Sprint("n", i)
		w.ask(ballot.Lock, name, place(name))
	}
	if w.b.Silent(0) {
		t.Error("a node is silent after a burst")
	}
	w.now = w.now.Add(time.Second)
	w.ask(ballot.Lock, "b", place("y"))
	if !w.b.Silent(0) {
		t.Error("a node that does not answer is not silent")
	}
}

func (w *world) owed() (ids []string) {
	for _, c := range w.b.Owed() {
		ids = append(ids, fmt.Sprint(c.Args[0], " ", c.Node))
	}
	slices.Sort(ids)
	return ids
}
