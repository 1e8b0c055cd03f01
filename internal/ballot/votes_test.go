package ballot

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var (
	errGone = errors.New("connection refused")
	never   = func(int) bool { return false }
	always  = func(int) bool { return true }
)

func grant(token int64) wire.Answer { return wire.Answer{Word: wire.Granted, Base: token} }
func heldFor(by string, pttl time.Duration) wire.Answer {
	return wire.Answer{Word: wire.Held, Holder: by, PTTL: pttl}
}

// T is the largest token of the first majority. A node that gave a lower one counts when it has
// answered raise. A node that gives a higher one later never counts.
func TestTokenOfAMajority(t *testing.T) {
	v := newVotes(5, 3)
	for i, token := range []int64{100, 300} {
		if raise := v.take(i, grant(token), nil); raise != nil || v.token != 0 {
			t.Fatalf("node %d decides", i)
		}
	}
	if raise := v.take(2, grant(200), nil); !slices.Equal(raise, []int{0, 2}) || v.token != 300 || v.won() {
		t.Fatalf("raises %v to %d, want the first and the third to 300", raise, v.token)
	}
	if raise := v.take(3, grant(400), nil); raise != nil || v.of[3].state != granted {
		t.Errorf("a higher token counts: %v", v.of[3])
	}
	v.raised(0, wire.Answer{Word: wire.Raised}, nil)
	if v.won() {
		t.Error("won by two of five")
	}
	v.raised(2, wire.Answer{}, errGone)
	if raise := v.take(4, grant(50), nil); !slices.Equal(raise, []int{4}) || v.won() {
		t.Errorf("raises %v, want the last", raise)
	}
	if v.raised(4, wire.Answer{Word: wire.Raised}, nil); !v.won() {
		t.Error("not won by three of five")
	}
}

// Two nodes with one run are one server.
func TestOneServerTwice(t *testing.T) {
	v := newVotes(3, 2)
	for i := range 2 {
		a := grant(7)
		a.Run = "same"
		v.take(i, a, nil)
	}
	if v.token != 0 || v.winnable(never) {
		t.Error("one server is a majority")
	}
	errs, down, refusing := v.denied("q")
	if !v.tooFewServers(errs) || errs[1].Error() != "is the same server as node 1" || !errors.Is(errs[2], wire.ErrNoAnswer) || down != 1 || refusing != 0 {
		t.Errorf("got %v, %d down, %d refusing", errs, down, refusing)
	}
}

func TestHope(t *testing.T) {
	for name, test := range map[string]struct {
		take                 func(v *votes)
		hopefulIn, hopeful   bool // in time, and not
		plainIn, plainBehind bool
	}{
		"nobody has answered": {func(*votes) {}, true, false, false, true},
		"one of three":        {func(v *votes) { v.take(0, grant(1), nil) }, true, false, false, true},
		"two errors":          {func(v *votes) { v.take(0, wire.Answer{}, errGone); v.take(1, wire.Answer{}, errGone) }, false, false, false, true},
		"another has it":      {func(v *votes) { v.take(0, heldFor("a", 1), nil); v.take(1, heldFor("a", 1), nil) }, false, false, true, true},
		"two have one each":   {func(v *votes) { v.take(0, heldFor("a", 1), nil); v.take(1, heldFor("b", 1), nil) }, false, false, false, true},
		"a raise is awaited": {func(v *votes) {
			v.take(0, grant(1), nil)
			v.take(1, grant(2), nil)
			v.take(2, heldFor("b", 1), nil)
		}, true, false, true, true},
	} {
		v := newVotes(3, 2)
		test.take(&v)
		if got := [...]bool{v.winnable(always), v.winnable(never), v.reasonKnown(always), v.reasonKnown(never)}; got != [...]bool{test.hopefulIn, test.hopeful, test.plainIn, test.plainBehind} {
			t.Errorf("%s: hopeful in time, behind it, plain in time, behind it: %v", name, got)
		}
	}
}

func TestHolder(t *testing.T) {
	v := newVotes(5, 3)
	v.take(0, heldFor("a", time.Second), nil)
	v.take(1, heldFor("b", time.Second), nil)
	v.take(2, heldFor("b", 3*time.Second), nil)
	v.take(3, grant(1), nil)
	if a, most := v.holder(); a == nil || a.Holder != "b" || a.PTTL != 3*time.Second || most != 2 {
		t.Errorf("got %+v with %d, want b for 3s with 2", a, most)
	}
}

func TestDenied(t *testing.T) {
	v := newVotes(5, 3)
	v.take(0, wire.Answer{Word: wire.NoVote, PTTL: 40 * time.Second}, nil)
	v.take(1, wire.Answer{Word: wire.NoMember, Mark: "other"}, nil)
	v.take(2, wire.Answer{}, errGone)
	v.take(3, wire.Answer{}, driver.ServerError("NOPERM no"))
	v.take(4, heldFor("a", 1), nil)
	errs, down, refusing := v.denied("q")
	if down != 4 || refusing != 2 || errs[4] != nil || !strings.Contains(errs[0].Error(), "votes in 40s") || !errors.As(errs[1], new(*wire.NotMember)) {
		t.Errorf("got %v, %d down, %d refusing, want 4 and 2", errs, down, refusing)
	}
	if v.of[2].state != failed || v.of[3].state != against {
		t.Error("a refusal is an answer, an error is none")
	}
}

func TestAnswers(t *testing.T) {
	s := newAnswers(5)
	s.take(0, wire.Answer{Word: wire.Ours, PTTL: 3 * time.Second, Run: "x"}, nil)
	s.take(1, wire.Answer{Word: wire.Ours, PTTL: 2 * time.Second, Run: "x"}, nil)
	s.take(2, wire.Answer{Word: wire.Ours, PTTL: -1, Run: "y"}, nil)
	s.take(3, wire.Answer{Word: wire.Lost, Holder: "other"}, nil)
	s.take(4, wire.Answer{}, errGone)
	if s.arrived != 5 || s.number(wire.Ours) != 2 || s.number(wire.Lost) != 1 {
		t.Errorf("%d came, %d ours, %d lost, want 5, 2, 1", s.arrived, s.number(wire.Ours), s.number(wire.Lost))
	}
	if got := s.remaining(time.Minute); got != 2*time.Second {
		t.Errorf("least is %v, want 2s", got)
	}
	if got := s.otherHolder(); got != "other" {
		t.Errorf("taken by %q", got)
	}
	if errs := s.denied("q"); errs[0] != nil || errs[3] == nil || errs[4] != errGone { //nolint:errorlint // that very one
		t.Errorf("got %v", errs)
	}
}
