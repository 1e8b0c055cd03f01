package ballot_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// What the votes of three nodes mean for a try, and which nodes are sent unlock.
func TestTry(t *testing.T) {
	for name, test := range map[string]struct {
		votes func(w *world)
		want  string
		sent  []string
	}{
		"a majority of one token": {func(w *world) { w.from("lock", granted(7), nil, 0, 1) }, "a: granted", []string{"lock 2"}},
		"a lower token is raised": {func(w *world) {
			w.from("lock", granted(7), nil, 0)
			w.from("lock", granted(9), nil, 1)
			w.from("raise", word(wire.Raised), nil, 0)
		}, "a: granted", []string{"lock 2"}},
		"a raise that was refused": {func(w *world) {
			w.from("lock", granted(7), nil, 0)
			w.from("lock", granted(9), nil, 1)
			w.from("raise", word(wire.Lost), nil, 0)
			w.from("lock", heldBy("b:1"), nil, 2)
		}, "a: split b", []string{"unlock 0", "unlock 1"}},
		"another has a majority": {func(w *world) {
			w.from("lock", granted(7), nil, 0)
			w.from("lock", heldBy("b:1"), nil, 1, 2)
		}, "a: held b", []string{"unlock 0"}},
		"each has one": {func(w *world) {
			w.from("lock", granted(7), nil, 0)
			w.from("lock", heldBy("b:1"), nil, 1)
			w.from("lock", heldBy("c:1"), nil, 2)
		}, "a: split b", []string{"unlock 0"}},
		"two are down": {func(w *world) {
			w.from("lock", granted(7), nil, 0)
			w.from("lock", wire.Answer{}, errGone, 1, 2)
		}, "a: denied, final: false", []string{"unlock 0", "unlock 1", "unlock 2"}},
		"two refuse for good": {func(w *world) {
			w.from("lock", wire.Answer{}, errRight, 0)
			w.from("lock", word(wire.NoMember), nil, 1)
			w.from("lock", granted(7), nil, 2)
		}, "a: denied, final: true", []string{"unlock 2"}},
		"two have another version": {func(w *world) {
			w.from("lock", wire.Answer{}, &wire.VersionError{}, 0, 1)
			w.from("lock", granted(7), nil, 2)
		}, "a: another version", []string{"unlock 2"}},
		"two were restarted": {func(w *world) {
			w.from("lock", word(wire.NoVote), nil, 0, 1)
			w.from("lock", granted(7), nil, 2)
		}, "a: denied, final: false", []string{"unlock 2"}},
		"nobody answers": {func(w *world) { w.after(attempt) }, "a: denied, final: false", []string{"lock 0", "lock 1", "lock 2"}},
		"one was not asked": {func(w *world) {
			w.from("lock", heldBy("b:1"), nil, 0, 1)
			w.expect("a: held b")
			w.from("lock", wire.Answer{}, ballot.ErrNotSent, 2)
			w.answers = []string{"a: held b"}
		}, "a: held b", []string{"unlock 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ask(ballot.Lock, "a", place("x"))
			w.after(trip)
			test.votes(w)
			w.expect(test.want)
			if name == "nobody answers" { // they are owed unlock until they come back
				w.sent(test.sent...)
				w.from("lock", wire.Answer{}, wire.ErrNoAnswer, 0, 1, 2)
				test.sent = []string{"unlock 0", "unlock 1", "unlock 2"}
			}
			w.sent(test.sent...)
		})
	}
}

// A node that has its usual time is waited for, and one that is silent is not.
func TestPatience(t *testing.T) {
	w := newWorld(t)
	w.held("a", place("x"))
	w.ask(ballot.Lock, "b", place("y"))
	w.after(trip)
	w.from("lock", heldBy("c:1"), nil, 0)
	w.expect()
	w.after(4*trip + 15*time.Millisecond)
	w.expect("b: denied, final: false")
	w.from("lock", granted(200), nil, 1)
	w.ask(ballot.Lock, "d", place("z"))
	w.after(trip)
	w.from("lock", wire.Answer{}, errGone, 0)
	w.from("lock", granted(300), nil, 1)
	w.expect() // the third is silent, but without it there is no majority
	w.from("lock", wire.Answer{}, errGone, 2)
	w.from("lock", granted(300), nil, 2)
	w.expect("d: granted")
}

// A vote that comes late is undone, unless the tenure holds.
func TestLateVote(t *testing.T) {
	w := newWorld(t)
	w.held("a", place("x"))
	w.sent()
	w.ask(ballot.Lock, "b", place("y"))
	w.from("lock", heldBy("c:1"), nil, 0, 1)
	w.from("unlock", word(wire.NotHeld), nil, 2) // it has overtaken the lock
	w.sent("lock 2")
	w.from("lock", granted(7), nil, 2)
	w.sent("unlock 2")
}

// A node that is silent may not have been asked: it is sent unlock when it turns out that it
// was, and then until a ttl has passed.
func TestSilentNodeIsOwedWhatItWasAsked(t *testing.T) {
	for err, want := range map[error][]string{ballot.ErrNotSent: nil, wire.ErrNoAnswer: {"unlock 2"}} {
		w := newWorld(t)
		w.ask(ballot.Lock, "z", place("z"))
		w.from("lock", wire.Answer{}, errGone, 2)
		w.from("lock", granted(1), nil, 0, 1)
		w.ask(ballot.Lock, "a", place("x"))
		w.after(trip)
		w.from("lock", heldBy("b:1"), nil, 0, 1)
		w.expect("z: granted", "a: held b")
		w.sent("lock 2")
		w.from("lock", wire.Answer{}, err, 2)
		w.sent(want...)
		if want != nil {
			w.from("unlock", wire.Answer{}, errGone, 2)
			w.after(time.Second)
			w.sent(want...)
		}
	}
}

// A node that granted is sent unlock, also if a later call to it was not sent.
func TestRaiseThatWasNotSent(t *testing.T) {
	w := newWorld(t)
	w.ask(ballot.Lock, "a", place("x"))
	w.from("lock", granted(7), nil, 0)
	w.from("lock", granted(9), nil, 1)
	w.from("raise", wire.Answer{}, ballot.ErrNotSent, 0)
	w.from("lock", wire.Answer{}, ballot.ErrNotSent, 2)
	w.expect("a: denied, final: false")
	w.sent("unlock 0", "unlock 1")
}

// A try that is won with too little of the ttl left is undone. Two that follow each other are
// too slow.
func TestTooSlow(t *testing.T) {
	for between, want := range map[time.Duration]string{0: "b: too slow", 2 * attempt: "b: split"} {
		w, at := newWorld(t), ballot.NewPlace("x", keyspace.KeysBeside("x"), time.Second)
		w.ask(ballot.Lock, "z", place("z"))
		w.now = w.now.Add(800 * time.Millisecond)
		w.from("lock", heldBy("c:1"), nil, 0, 1, 2) // the nodes are far away
		w.answers, w.open = nil, nil
		for _, id := range []string{"a", "b"} {
			w.ask(ballot.Lock, id, at)
			w.now = w.now.Add(800 * time.Millisecond)
			w.from("lock", granted(7), nil, 0, 1)
			if id == "a" {
				w.expect("a: split")
				w.sent("lock 2", "unlock 0", "unlock 1", "unlock 2")
				w.now, w.open = w.now.Add(between), nil
			}
		}
		w.expect(want)
	}
}

// Votes that are split again and again are spread over more and more time, and in the end they
// are an answer.
func TestSplits(t *testing.T) {
	w, at := newWorld(t), place("x")
	last := time.Duration(0)
	for i := range 8 {
		w.ask(ballot.Lock, "a", at)
		w.after(trip)
		w.from("lock", granted(7), nil, 0)
		w.from("lock", heldBy("b:1"), nil, 1)
		w.from("lock", heldBy("c:1"), nil, 2)
		want := "a: split b"
		if i == 7 {
			want = "a: held b"
		}
		w.expect(want)
		if i == 0 && w.pollIn != trip {
			t.Errorf("the next try is due in %v, want half of two round trips", w.pollIn)
		}
		if w.pollIn <= last && i < 6 {
			t.Errorf("the next try is due in %v, after %v", w.pollIn, last)
		}
		last = w.pollIn
	}
}

// A try whose id is undone has no answer, and its late votes are undone.
func TestGivenUp(t *testing.T) {
	w := newWorld(t)
	w.ask(ballot.Lock, "a", place("x"))
	w.ask(ballot.Undo, "a", place("x"))
	w.expect()
	w.from("unlock", word(wire.NotHeld), nil, 0, 1)
	w.expect("a: released")
	w.from("lock", granted(7), nil, 0)
	w.sent("lock 1", "lock 2", "unlock 0", "unlock 2")
	w.after(attempt)
	w.expect()
}

// A vote of a try that was lost is undone until the node has forgotten it by itself.
func TestVoteIsUndoneForATTL(t *testing.T) {
	w := newWorld(t)
	w.ask(ballot.Lock, "a", place("x"))
	w.from("lock", granted(7), nil, 0)
	w.from("lock", heldBy("b:1"), nil, 1, 2)
	w.expect("a: held b")
	for range 6 {
		w.from("unlock", wire.Answer{}, errGone, 0)
		w.after(time.Second)
		w.sent("unlock 0")
	}
}

// A caller that does not wait marks no name as wanted.
func TestTryMarksNothing(t *testing.T) {
	for _, waits := range []bool{true, false} {
		w := newWorld(t)
		w.b.Ask(&ballot.Request{Op: ballot.Lock, ID: "a", Place: place("x"), Attempt: attempt, Waits: waits})
		if marks := w.open[0].Args[3] != "0"; marks != waits {
			t.Errorf("waits %v: the mark is %q", waits, w.open[0].Args[3])
		}
	}
}
