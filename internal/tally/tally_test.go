package tally_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/tally"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var (
	errGone = errors.New("connection refused")
	never   = func(int) bool { return false }
	always  = func(int) bool { return true }
)

func granted(token int64) wire.Answer { return wire.Answer{Word: "granted", Base: token} }
func held(by string, pttl time.Duration) wire.Answer {
	return wire.Answer{Word: "held", Holder: by, PTTL: pttl}
}

// T is the largest token of the first majority. A node that gave a lower one counts when it has
// answered raise. A node that gives a higher one later never counts.
func TestTokenOfAMajority(t *testing.T) {
	v := tally.New(5, 3)
	for i, token := range []int64{100, 300} {
		if raise := v.Take(i, granted(token), nil); raise != nil || v.Token != 0 {
			t.Fatalf("node %d decides", i)
		}
	}
	if raise := v.Take(2, granted(200), nil); !slices.Equal(raise, []int{0, 2}) || v.Token != 300 || v.Won() {
		t.Fatalf("raises %v to %d, want the first and the third to 300", raise, v.Token)
	}
	if raise := v.Take(3, granted(400), nil); raise != nil || v.Of[3].Stand != tally.Granted {
		t.Errorf("a higher token counts: %v", v.Of[3])
	}
	v.Raised(0, wire.Answer{Word: "raised"}, nil)
	if v.Won() {
		t.Error("won by two of five")
	}
	v.Raised(2, wire.Answer{}, errGone)
	if raise := v.Take(4, granted(50), nil); !slices.Equal(raise, []int{4}) || v.Won() {
		t.Errorf("raises %v, want the last", raise)
	}
	if v.Raised(4, wire.Answer{Word: "raised"}, nil); !v.Won() {
		t.Error("not won by three of five")
	}
}

// Two nodes with one run are one server.
func TestOneServerTwice(t *testing.T) {
	v := tally.New(3, 2)
	for i := range 2 {
		a := granted(7)
		a.Run = "same"
		v.Take(i, a, nil)
	}
	if v.Token != 0 || v.Hopeful(never) {
		t.Error("one server is a majority")
	}
	errs, down, refusing := v.Denied("q")
	if !v.TooFewServers(errs) || errs[1].Error() != "is the same server as node 1" || !errors.Is(errs[2], wire.ErrNoAnswer) || down != 1 || refusing != 0 {
		t.Errorf("got %v, %d down, %d refusing", errs, down, refusing)
	}
}

func TestHope(t *testing.T) {
	for name, test := range map[string]struct {
		take                 func(v *tally.Votes)
		hopefulIn, hopeful   bool // in time, and not
		plainIn, plainBehind bool
	}{
		"nobody has answered": {func(*tally.Votes) {}, true, false, false, true},
		"one of three":        {func(v *tally.Votes) { v.Take(0, granted(1), nil) }, true, false, false, true},
		"two errors":          {func(v *tally.Votes) { v.Take(0, wire.Answer{}, errGone); v.Take(1, wire.Answer{}, errGone) }, false, false, false, true},
		"another has it":      {func(v *tally.Votes) { v.Take(0, held("a", 1), nil); v.Take(1, held("a", 1), nil) }, false, false, true, true},
		"two have one each":   {func(v *tally.Votes) { v.Take(0, held("a", 1), nil); v.Take(1, held("b", 1), nil) }, false, false, false, true},
		"a raise is awaited": {func(v *tally.Votes) {
			v.Take(0, granted(1), nil)
			v.Take(1, granted(2), nil)
			v.Take(2, held("b", 1), nil)
		}, true, false, true, true},
	} {
		v := tally.New(3, 2)
		test.take(&v)
		if got := [...]bool{v.Hopeful(always), v.Hopeful(never), v.Plain(always), v.Plain(never)}; got != [...]bool{test.hopefulIn, test.hopeful, test.plainIn, test.plainBehind} {
			t.Errorf("%s: hopeful in time, behind it, plain in time, behind it: %v", name, got)
		}
	}
}

func TestHolder(t *testing.T) {
	v := tally.New(5, 3)
	v.Take(0, held("a", time.Second), nil)
	v.Take(1, held("b", time.Second), nil)
	v.Take(2, held("b", 3*time.Second), nil)
	v.Take(3, granted(1), nil)
	if a, most := v.Holder(); a == nil || a.Holder != "b" || a.PTTL != 3*time.Second || most != 2 {
		t.Errorf("got %+v with %d, want b for 3s with 2", a, most)
	}
}

func TestDenied(t *testing.T) {
	v := tally.New(5, 3)
	v.Take(0, wire.Answer{Word: "no vote", PTTL: 40 * time.Second}, nil)
	v.Take(1, wire.Answer{Word: "no member", Mark: "other"}, nil)
	v.Take(2, wire.Answer{}, errGone)
	v.Take(3, wire.Answer{}, driver.ServerError("NOPERM no"))
	v.Take(4, held("a", 1), nil)
	errs, down, refusing := v.Denied("q")
	if down != 4 || refusing != 2 || errs[4] != nil || !strings.Contains(errs[0].Error(), "votes in 40s") || !errors.As(errs[1], new(*wire.NotMember)) {
		t.Errorf("got %v, %d down, %d refusing, want 4 and 2", errs, down, refusing)
	}
	if v.Of[2].Stand != tally.Failed || v.Of[3].Stand != tally.Against {
		t.Error("a refusal is an answer, an error is none")
	}
}

func TestAnswers(t *testing.T) {
	s := tally.NewAnswers(5)
	s.Take(0, wire.Answer{Word: "ours", PTTL: 3 * time.Second, Run: "x"}, nil)
	s.Take(1, wire.Answer{Word: "ours", PTTL: 2 * time.Second, Run: "x"}, nil)
	s.Take(2, wire.Answer{Word: "ours", PTTL: -1, Run: "y"}, nil)
	s.Take(3, wire.Answer{Word: "lost", Holder: "other"}, nil)
	s.Take(4, wire.Answer{}, errGone)
	if s.Came != 5 || s.Number("ours") != 2 || s.Number("lost") != 1 {
		t.Errorf("%d came, %d ours, %d lost, want 5, 2, 1", s.Came, s.Number("ours"), s.Number("lost"))
	}
	if got := s.Shortest(time.Minute); got != 2*time.Second {
		t.Errorf("least is %v, want 2s", got)
	}
	if got := s.Taker(); got != "other" {
		t.Errorf("taken by %q", got)
	}
	if errs := s.Denied("q"); errs[0] != nil || errs[3] == nil || errs[4] != errGone { //nolint:errorlint // that very one
		t.Errorf("got %v", errs)
	}
}
