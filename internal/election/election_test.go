package election

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func FuzzDecode(f *testing.F) {
	f.Add("leader\x001\x00c.n.15000|o\x00-1\x0077")
	f.Add("leader\x001\x00c.n.15000|o\x0012000\x0077\x002\x00value")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = Decode("c", strings.Split(text, "\x00"))
	})
}

func TestDecode(t *testing.T) {
	reply := func(holder, pttl, term, number, value string) []string {
		return []string{"leader", "1", holder, pttl, term, number, value}
	}
	for name, test := range map[string]struct {
		reply []string
		want  Leader // without its hash
		bad   bool
	}{
		"own, first value":  {reply: reply("c.n.15000|o", "12000", "77", "0", ""), want: Leader{Value: "o", Term: 77, Own: true, Remaining: 12 * time.Second}},
		"proclaimed":        {reply: reply("d.n.15000|o", "12000", "77", "2", "v"), want: Leader{Value: "v", Term: 77, Remaining: 12 * time.Second}},
		"another library's": {reply: reply("x", "-1", "0", "0", ""), want: Leader{Foreign: true, Remaining: -time.Millisecond}},
		"nobody":            {reply: reply("", "-2", "0", "0", "")},
		"cool-down":         {reply: reply("cooldown|o", "12000", "0", "0", "")},
		"short":             {reply: []string{"leader"}, bad: true},
		"no number":         {reply: reply("c.n.15000|o", "x", "77", "0", ""), bad: true},
		"too large":         {reply: reply("c.n.15000|o", "12000", "9007199254740993", "0", ""), bad: true},
	} {
		got, err := Decode("c", test.reply)
		if (err != nil) != test.bad {
			t.Errorf("%s: got error %v", name, err)
		}
		got.Hash = ""
		if got.Leader != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got.Leader, test.want)
		}
	}
}

// An observer reports each change once, an error once, and always the first result after it. It
// does not go back to an older value or lose the term.
func TestSight(t *testing.T) {
	var s Sight
	broken := errors.New("connection refused")
	a := View{Leader: Leader{Hash: "a", Value: "v", Term: 7}}
	newer := View{Leader: Leader{Hash: "a", Value: "w", Term: 7}, number: 2}
	for i, step := range []struct {
		view  View
		err   error
		want  string // its value; or the error
		isNew bool
	}{
		{view: View{}, isNew: true},
		{view: View{}},
		{view: a, want: "v", isNew: true},
		{view: a, want: "v"},
		{err: broken, isNew: true},
		{err: broken},
		{view: a, want: "v", isNew: true},
		{view: newer, want: "w", isNew: true},
		{view: a, want: "w"},
		{view: View{Leader: Leader{Hash: "a", Value: "v"}}, want: "w"},
		{view: View{Leader: Leader{Hash: "b", Value: "v"}}, want: "v", isNew: true},
	} {
		news, isNew := s.Take(step.view, step.err)
		if news.Value != step.want || isNew != step.isNew {
			t.Errorf("step %d: got %q, news %v; want %q, news %v", i, news.Value, isNew, step.want, step.isNew)
		}
	}
}

func TestPause(t *testing.T) {
	none := func(time.Duration) time.Duration { return 0 }
	leader := View{Leader: Leader{Hash: "a", Term: 7, Remaining: 10 * time.Second}}
	silent := View{Leader: Leader{Hash: "a", Remaining: 10 * time.Second}}
	for name, test := range map[string]struct {
		view       View
		err        error
		subscribed bool
		want       time.Duration
	}{
		"until the term ends":        {view: leader, subscribed: true, want: 10*time.Second + pollBehind},
		"without a subscription":     {view: leader, want: pollUnsubscribed},
		"of a leader without a term": {view: silent, subscribed: true, want: pollUnsubscribed},
		"while nobody leads":         {subscribed: true, want: pollAnyway},
		"while the store fails":      {err: errors.New("connection refused"), subscribed: true, want: 25 * time.Millisecond},
	} {
		var s Sight
		s.Take(test.view, test.err)
		if got := s.Pause(test.subscribed, none); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// A quorum's leader is that of a majority, and so is its term.
func TestAgreed(t *testing.T) {
	a, other, b := Leader{Hash: "a", Term: 7}, Leader{Hash: "a", Term: 9}, Leader{Hash: "b", Term: 8}
	for name, test := range map[string]struct {
		all  []Leader
		want Leader
		ok   bool
	}{
		"all":                {[]Leader{a, a, a}, a, true},
		"a majority":         {[]Leader{b, a, a}, a, true},
		"of different terms": {[]Leader{a, other, b}, Leader{Hash: "a"}, true},
		"without a term":     {[]Leader{{Hash: "a"}, {Hash: "a"}}, Leader{Hash: "a"}, true},
		"no majority":        {[]Leader{a, b, {}}, Leader{}, false},
		"nobody":             {[]Leader{{}, {}, {}}, Leader{}, false},
	} {
		if got, ok := Agreed(test.all, 2); got != test.want || ok != test.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", name, got, ok, test.want, test.ok)
		}
	}
}
