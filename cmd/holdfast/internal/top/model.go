package top

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
)

// topRow is a name and what is to be said of it.
type topRow struct {
	*inspect.View
	rank int    // 0 is the worst
	bad  bool   // it needs attention
	why  string // in a sentence; may be empty
}

// model is what is on the screen. Bubble Tea calls its methods one after the
// other; only survey, read and revoke run beside them, and touch nothing of it.
type model struct {
	survey func() topSeen
	read   func(name string) topDetail
	revoke func(name, tenure, reason string) topRevoked
	server string
	prefix string
	every  time.Duration
	now    func() time.Time

	width, height int // 0: without end
	colour        bool

	rows     []topRow // as they came
	shown    []topRow // filtered and sorted
	at       time.Time
	refused  int
	err      error     // of the newest update; nil: it was answered
	since    time.Time // of the first error in a row
	paused   bool
	help     bool
	all      bool
	sort     string
	reverse  bool
	filter   string
	typing   bool
	cursor   int
	offset   int
	detail   string // the name in the details; empty: the table
	lines    []string
	scrolled int
	asking   *question // nil: nothing is asked
	said     string    // what came of a question, until the next key
}

// topSeen is the result of reading all names.
type topSeen struct {
	rows    []topRow
	refused []error
	err     error
}

// topDetail is the result of reading one name.
type topDetail struct {
	name  string
	lines []string
}

type (
	topTick struct{} // a second is over
	topDue  struct{} // an update is due
)

func newModel(ctx context.Context, a *cli.App, client *connect.Session, o options, prefix string) *model {
	m := &model{server: cli.PublicURL(a.RedisURL), prefix: prefix, every: o.interval, all: o.all, sort: o.sort, now: time.Now}
	m.survey = func() topSeen {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return surveyAll(ctx, a, client, prefix)
	}
	m.read = func(name string) topDetail {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return topDetail{name, stateLines(ctx, a, client, name, m.colour)}
	}
	m.revoke = func(name, tenure, reason string) topRevoked {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return revoke(ctx, a, client, name, tenure, reason)
	}
	return m
}

// Init starts the updates and the countdown.
func (m *model) Init() tea.Cmd { return tea.Batch(m.surveyNow(), second()) }

func (m *model) surveyNow() tea.Cmd {
	survey := m.survey
	return func() tea.Msg { return survey() }
}

func (m *model) readNow() tea.Cmd {
	name, read := m.detail, m.read
	if name == "" {
		return nil
	}
	return func() tea.Msg { return read(name) }
}

func second() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return topTick{} })
}

// Update handles a key, or the result of an update.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case topTick:
		return m, second()
	case topSeen:
		if !m.paused {
			m.take(msg)
		}
		return m, tea.Batch(m.readNow(), tea.Tick(m.every, func(time.Time) tea.Msg { return topDue{} }))
	case topDetail:
		if msg.name == m.detail && !m.paused {
			m.lines = msg.lines
		}
	case topRevoked:
		m.said = string(msg)
		return m, m.readNow()
	case topDue:
		return m, m.surveyNow()
	case tea.PasteMsg:
		switch {
		case m.asking != nil:
			m.asking.typed("", msg.Content)
		case m.typing:
			m.narrow(m.filter + view.Text(msg.Content))
		}
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// take takes in what was seen. After an error the old picture stays, with a word
// about its age.
func (m *model) take(seen topSeen) {
	if seen.err != nil {
		if m.err == nil {
			m.since = m.now()
		}
		m.err = seen.err
		return
	}
	m.err, m.rows, m.refused, m.at = nil, seen.rows, len(seen.refused), m.now()
	m.arrange()
}

// arrange filters and sorts, and leaves the cursor on its name where that is still
// there.
func (m *model) arrange() {
	chosen := m.chosen()
	m.shown = m.shown[:0]
	for _, r := range m.rows {
		free := r.Holder == nil && r.Waiting == 0 && !r.bad // what could not be read is bad
		if (m.all || !free) && m.matches(r) {
			m.shown = append(m.shown, r)
		}
	}
	slices.SortStableFunc(m.shown, func(a, b topRow) int {
		order := orders[m.sort](a, b)
		if m.reverse {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.Name, b.Name))
	})
	if at := slices.IndexFunc(m.shown, func(r topRow) bool { return r.Name == chosen }); at >= 0 {
		m.cursor = at
	}
	m.move(0)
}

func (m *model) matches(r topRow) bool {
	text := strings.ToLower(m.filter)
	return strings.Contains(strings.ToLower(view.Text(r.Name)), text) || strings.Contains(strings.ToLower(r.Holders()), text)
}

// chosen is the name under the cursor; empty: there is none.
func (m *model) chosen() string {
	if m.cursor < len(m.shown) {
		return m.shown[m.cursor].Name
	}
	return ""
}

// sorts are the words of --sort, and orders what they mean.
var sorts = []string{"problem", "name", "waiting", "left", "held"}

var orders = map[string]func(a, b topRow) int{
	"problem": func(a, b topRow) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.Waiting, a.Waiting)) },
	"name":    func(a, b topRow) int { return cmp.Compare(a.Name, b.Name) },
	"waiting": func(a, b topRow) int { return cmp.Compare(b.Waiting, a.Waiting) },
	"left":    func(a, b topRow) int { return cmp.Compare(leftOf(a), leftOf(b)) },
	"held":    func(a, b topRow) int { return cmp.Compare(heldOf(b), heldOf(a)) },
}

func leftOf(r topRow) time.Duration {
	if r.Holder == nil || r.Holder.Remaining < 0 {
		return 1<<63 - 1 // behind all others
	}
	return r.Holder.Remaining
}

func heldOf(r topRow) time.Duration {
	if r.Holder == nil {
		return -1
	}
	return r.Holder.Held
}

// key does what a key asks for.
func (m *model) key(key tea.KeyPressMsg) tea.Cmd {
	pressed := key.String()
	m.said = ""
	switch {
	case pressed == "ctrl+c":
		return tea.Quit
	case m.asking != nil:
		return m.answer(pressed, key.Text)
	case m.typing:
		m.typed(pressed, key.Text)
		return nil
	case m.detail != "":
		return m.detailKey(pressed)
	}
	switch pressed {
	case "q":
		return tea.Quit
	case "enter":
		return m.open()
	case "/":
		m.typing = true
	case "esc":
		m.help = false
		m.narrow("")
	case "s":
		m.sort = sorts[(slices.Index(sorts, m.sort)+1)%len(sorts)]
		m.arrange()
	case "r":
		m.reverse = !m.reverse
		m.arrange()
	case "a":
		m.all = !m.all
		m.arrange()
	default:
		m.eitherKey(pressed)
		m.move(steps(pressed, m.pageLength(), len(m.shown)))
	}
	return nil
}

// eitherKey is for keys that mean the same in the table and in the details.
func (m *model) eitherKey(pressed string) {
	switch pressed {
	case "space":
		m.paused = !m.paused
	case "?":
		m.help = !m.help
	case "ctrl+d":
		m.ask()
	}
}

func (m *model) detailKey(pressed string) tea.Cmd {
	switch pressed {
	case "q":
		return tea.Quit
	case "esc", "backspace", "enter", "left", "h":
		m.detail, m.lines, m.scrolled = "", nil, 0
		return nil
	}
	m.eitherKey(pressed)
	m.scrolled += steps(pressed, m.pageLength(), len(m.lines))
	m.scrolled = max(0, min(m.scrolled, len(m.lines)-1))
	return nil
}

// open shows the details of the name under the cursor.
func (m *model) open() tea.Cmd {
	m.detail, m.lines, m.scrolled = m.chosen(), []string{"reading ..."}, 0
	return m.readNow()
}

// typed takes in a key while the filter is typed.
func (m *model) typed(pressed, text string) {
	switch pressed {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.narrow("")
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.narrow(string(runes[:len(runes)-1]))
		}
	case "ctrl+u":
		m.narrow("")
	default:
		m.narrow(m.filter + view.Text(text))
	}
}

func (m *model) narrow(filter string) {
	m.filter = filter
	m.arrange()
}

// steps is how far a key moves.
func steps(pressed string, page, all int) int {
	switch pressed {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup", "ctrl+b":
		return -page
	case "pgdown", "ctrl+f":
		return page
	case "home", "g":
		return -all
	case "end", "G":
		return all
	}
	return 0
}

// move moves the cursor, and the table so that it is seen.
func (m *model) move(by int) {
	m.cursor = max(0, min(m.cursor+by, len(m.shown)-1))
	page := m.pageLength()
	m.offset = max(0, min(m.offset, m.cursor, len(m.shown)-page))
	m.offset = max(m.offset, m.cursor-page+1)
}
