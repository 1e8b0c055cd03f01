package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
)

// watched is a model that nobody feeds but the test.
func watched(width, height int, states ...*admin.State) *model {
	now := time.Unix(1e9, 0)
	m := &model{server: "redis://test", sort: "problem", every: time.Second, now: func() time.Time { return now }, width: width, height: height}
	m.survey = func() topSeen { return topSeen{} }
	m.read = func(name string) topDetail { return topDetail{name, []string{"all about " + name}} }
	var seen topSeen
	for _, s := range states {
		seen.rows = append(seen.rows, rowOf(s))
	}
	m.Update(seen)
	return m
}

func aState(name string, left, ttl time.Duration, waiting int) *admin.State {
	s := &admin.State{Name: name, Kind: holdfast.KindMutex, Waiting: waiting, Holder: &admin.Holder{
		Owner: "owner-of-" + name, Hash: "0123456789", Remaining: left, TTL: ttl, Held: time.Minute,
	}}
	for range waiting {
		s.Waiters = append(s.Waiters, admin.Waiter{Owner: "w", Listening: true, Waited: time.Second})
	}
	return s
}

func rowOf(s *admin.State) topRow {
	return newTopRow(&inspect.View{State: s, Reasons: diagnose.State(s, nil)})
}

func freeState(name string) *admin.State {
	return &admin.State{Name: name, Kind: holdfast.KindMutex}
}

// press presses keys, and what they lead to is brought to the model at once.
func press(m *model, keys ...string) {
	for _, k := range keys {
		var cmd tea.Cmd
		switch k {
		case "enter":
			_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		case "esc":
			_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
		case "down":
			_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
		case "space":
			_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "})
		case "end":
			_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeyEnd})
		case "ctrl+d":
			_, cmd = m.Update(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
		default:
			for _, r := range k {
				_, cmd = m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
		if cmd != nil {
			switch msg := cmd().(type) {
			case topDetail, topRevoked:
				m.Update(msg)
			}
		}
	}
}

// namesOn are the names on the screen, from above.
func namesOn(m *model) string {
	var names []string
	for line := range strings.SplitSeq(ansi.Strip(m.picture()), "\n") {
		if name, _, _ := strings.Cut(strings.TrimLeft(line, "> "), " "); strings.HasPrefix(name, "n-") {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// What is wrong comes first, and each other order is a key away.
func TestTopOrder(t *testing.T) {
	m := watched(120, 24,
		aState("n-calm", 9*time.Second, 10*time.Second, 0),
		aState("n-ever", -1, 0, 0),
		aState("n-late", time.Second, 10*time.Second, 1),
		aState("n-wait", 8*time.Second, 10*time.Second, 3),
		freeState("n-free"))
	for _, test := range []struct{ keys, want string }{
		{"", "n-ever n-late n-wait n-calm"},
		{"a", "n-ever n-late n-wait n-calm n-free"},
		{"s", "n-calm n-ever n-free n-late n-wait"}, // name
		{"s", "n-wait n-late n-calm n-ever n-free"}, // waiting
		{"s", "n-late n-wait n-calm n-ever n-free"}, // left
		{"r", "n-ever n-free n-calm n-wait n-late"}, // the other way round
		{"ra", "n-late n-wait n-calm n-ever"},       // and without what is free
		{"/Owner-Of-n-W", "n-wait"},                 // a holder
	} {
		press(m, test.keys)
		if got := namesOn(m); got != test.want {
			t.Errorf("after %q: got %s, want %s\n%s", test.keys, got, test.want, m.picture())
		}
	}
	press(m, "esc")
	if got, want := namesOn(m), "n-late n-wait n-calm n-ever"; got != want {
		t.Errorf("after esc: got %s, want %s", got, want)
	}
}

// The cursor stays on its name while others come and go; enter looks at that, and esc
// goes back.
func TestTopCursor(t *testing.T) {
	m := watched(100, 24, aState("n-b", time.Second, time.Second, 0), aState("n-c", time.Second, time.Second, 0))
	press(m, "down")
	m.Update(topSeen{rows: []topRow{
		rowOf(aState("n-a", time.Second, time.Second, 0)),
		rowOf(aState("n-b", time.Second, time.Second, 0)),
		rowOf(aState("n-c", time.Second, time.Second, 0)),
	}})
	if got, want := m.chosen(), "n-c"; got != want {
		t.Errorf("the cursor is on %q, want %q", got, want)
	}
	press(m, "enter")
	if got, want := m.picture(), "all about n-c"; !strings.Contains(got, want) || strings.Contains(got, "n-a") {
		t.Errorf("got\n%s\nwant %q alone", got, want)
	}
	press(m, "esc")
	if got, want := namesOn(m), "n-a n-b n-c"; got != want {
		t.Errorf("after esc: got %s, want %s", got, want)
	}
	m.Update(topSeen{})
	press(m, "enter")
	if m.detail != "" {
		t.Errorf("enter on nothing looks at %q", m.detail)
	}
}

// Times count down between looks, but not below nothing, nor while stopped.
func TestTopCountsDown(t *testing.T) {
	m := watched(100, 24, aState("n-a", 9*time.Second, 10*time.Second, 0))
	start := m.now()
	for _, test := range []struct {
		after time.Duration
		want  string
	}{{0, " 9s "}, {3 * time.Second, " 6s "}, {time.Minute, " 0s "}} {
		m.now = func() time.Time { return start.Add(test.after) }
		if got := m.picture(); !strings.Contains(got, test.want) {
			t.Errorf("after %v: got\n%s\nwant%s", test.after, got, test.want)
		}
	}
	press(m, "space")
	if got := m.picture(); !strings.Contains(got, " 9s ") || !strings.Contains(got, "paused 1m0s ago") {
		t.Errorf("stopped: got\n%s\nwant what was seen, and since when it stands", got)
	}
	m.Update(topSeen{})
	if got, want := namesOn(m), "n-a"; got != want {
		t.Errorf("stopped: got %s, want %s", got, want)
	}
}

// Without an answer the last picture stays, with a word about it, and goes when there
// is one again.
func TestTopWithoutAnswer(t *testing.T) {
	m := watched(100, 24, aState("n-a", 9*time.Second, 10*time.Second, 0))
	start := m.now()
	m.Update(topSeen{err: errors.New("nobody\nthere\x1b[2J")})
	m.now = func() time.Time { return start.Add(5 * time.Second) }
	m.Update(topSeen{err: errors.New("nobody\nthere\x1b[2J")})
	got := m.picture()
	for _, want := range []string{"n-a", "no answer for 5s", `nobody; there\x1b[2J`} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
		}
	}
	m.Update(topSeen{})
	if got := m.picture(); strings.Contains(got, "no answer") {
		t.Errorf("answered again: got\n%s", got)
	}
}

// Only the holder that was chosen is revoked, after a reason and y.
func TestTopRevokes(t *testing.T) {
	pool := aState("n-pool", time.Second, 10*time.Second, 0)
	pool.Kind, pool.Holding = holdfast.KindSemaphore, 3
	for i := range 3 {
		pool.Holders = append(pool.Holders, admin.Holder{Owner: fmt.Sprint("h", i), Hash: fmt.Sprint("hash", i), Part: admin.Part{Permits: 1}})
	}
	for _, c := range []struct {
		keys          []string
		revoked, says string
	}{
		{[]string{"ctrl+d"}, "", "reason (the holder reads it): _"},
		{[]string{"ctrl+d", "why q", "enter"}, "", "ask this holder to stop? y/n"},
		{[]string{"ctrl+d", "why q", "enter", "y"}, "n-a 0123456789 why q", "done"},
		{[]string{"ctrl+d", "why", "enter", "n"}, "", "nothing was changed"},
		{[]string{"ctrl+d", "why", "enter", "esc"}, "", "nothing was changed"},
		{[]string{"ctrl+d", "  ", "enter", "y"}, "", "reason (the holder reads it): y_"},
		{[]string{"ctrl+d", "y", "esc"}, "", "nothing was changed"},
		{[]string{"enter", "ctrl+d", "why", "enter", "y"}, "n-a 0123456789 why", "done"},
		{[]string{"down", "ctrl+d"}, "", "n-free has no holder"},
		{[]string{"end", "ctrl+d"}, "", "which holder?"},
		{[]string{"end", "ctrl+d", "y"}, "", "which holder?"},
		{[]string{"end", "ctrl+d", "down", "enter", "why", "enter"}, "", "> h1  1 permit"},
		{[]string{"end", "ctrl+d", "down", "enter", "why", "enter", "y"}, "n-pool hash1 why", "done"},
	} {
		for _, height := range []int{24, 4} {
			m := watched(100, height, aState("n-a", time.Second, 10*time.Second, 0), freeState("n-free"), pool)
			m.all, m.sort = true, "name"
			m.arrange()
			revoked := ""
			m.revoke = func(name, tenure, reason string) topRevoked {
				revoked = name + " " + tenure + " " + reason
				return "done"
			}
			press(m, c.keys...)
			if got := ansi.Strip(m.picture()); revoked != c.revoked || !strings.Contains(got, c.says) {
				t.Errorf("%d lines, after %q: revoked %q, want %q; got\n%s\nwant %q", height, c.keys, revoked, c.revoked, got, c.says)
			}
		}
	}
}

// However small the screen and however hostile the names: no line is wider, there are
// no more lines than fit, the name under the cursor is among them, and nothing that a
// terminal acts on gets through.
func TestTopFits(t *testing.T) {
	var states []*admin.State
	for i := range 40 {
		states = append(states, aState(fmt.Sprintf("n-%02d", i), time.Second, 10*time.Second, i))
	}
	states = append(states,
		aState("n-\x1b[2J\x1b]0;title\a\n\r\t\u202eevil", time.Second, 10*time.Second, 99),
		aState("n-"+strings.Repeat("長い名前", 40), time.Second, 10*time.Second, 98))
	for _, size := range [][2]int{{200, 60}, {100, 24}, {80, 10}, {50, 8}, {40, 7}, {20, 3}, {5, 2}, {1, 1}} {
		m := watched(size[0], size[1], states...)
		for _, keys := range [][]string{nil, {"end"}, {"enter"}, {"esc", "?"}, {"?", "/n"}, {"enter", "ctrl+d"}, {"long" + strings.Repeat("er", 200)}, {"enter"}} {
			press(m, keys...)
			lines := strings.Split(m.picture(), "\n")
			if len(lines) > size[1] {
				t.Errorf("%v after %q: got %d lines", size, keys, len(lines))
			}
			for _, line := range lines {
				if got := ansi.StringWidth(line); got > size[0] {
					t.Errorf("%v after %q: a line is %d wide: %q", size, keys, got, line)
				}
				if strings.ContainsAny(line, "\x1b\a\r\t\u202e") {
					t.Errorf("%v after %q: got through: %q", size, keys, line)
				}
			}
		}
		m = watched(size[0], size[1], states...)
		press(m, "end")
		if size[0] > 10 && size[1] > 2 && !strings.Contains(m.picture(), "\n> n-") {
			t.Errorf("%v: the cursor is out of sight:\n%s", size, m.picture())
		}
	}
}
