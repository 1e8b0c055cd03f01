package top

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
)

// reversed marks the line under the cursor.
const reversed = "7"

// View draws the whole screen.
func (m *model) View() tea.View {
	view := tea.NewView(m.picture())
	view.AltScreen = true
	return view
}

// picture is as many lines as there is room for, each no wider than that.
func (m *model) picture() string {
	var head, lines []string // head is left out where there is little room
	switch {
	case m.asking != nil:
		head = []string{m.paint(console.Bold, "revoke "+view.Text(m.asking.name)), ""}
		lines = m.asking.lines(m)
	case m.help:
		lines = strings.Split(keysHelp, "\n")
	case m.detail != "":
		head = []string{m.paint(console.Bold, view.Text(m.detail)) + m.aside(), m.said}
		lines = m.lines[min(m.scrolled, len(m.lines)):]
	default:
		head = []string{m.summary(), m.status()}
		lines = strings.Split(strings.TrimRight(m.table(m.pageLength()), "\n"), "\n")
	}
	if m.roomy() {
		lines = slices.Concat(head, lines)
	} else if m.said != "" {
		lines = slices.Insert(lines, 0, m.said)
	}
	switch {
	case m.height > 0 && m.roomy():
		lines = append(lines, make([]string, m.height)...)[:m.height-1]
		lines = append(lines, m.paint(console.Dim, m.footer()))
	case m.height > 0:
		lines = lines[:min(len(lines), m.height)]
	}
	for i := range lines {
		lines[i] = m.cut(lines[i])
	}
	return strings.Join(lines, "\n")
}

const keysHelp = `up, down, k, j       select a name
pgup, pgdown         page; home and end: first, last
enter                show its holder and its waiters; esc goes back
/                    show only names or holders that contain a text; esc ends that
s, r                 sort by the next column; reverse the order
a                    also show free names
ctrl-d               revoke: ask its holder to stop; first you give a reason
space                pause and resume
?                    show these keys
q                    quit`

// roomy reports whether there is room for more than the table.
func (m *model) roomy() bool { return m.height == 0 || m.height >= 8 }

// pageLength is how many names fit.
func (m *model) pageLength() int {
	if m.roomy() {
		return max(1, m.height-4) // summary, status, head, footer
	}
	return max(1, m.height-1)
}

func (m *model) cut(line string) string {
	if m.width <= 0 {
		return line
	}
	return ansi.Truncate(line, m.width, "~")
}

func (m *model) paint(colour, text string) string {
	return console.Screen{Colour: m.colour}.Paint(colour, text)
}

// summary is the first line.
func (m *model) summary() string {
	held, waiting, problems := 0, 0, 0
	for _, r := range m.rows {
		if r.Holder != nil && !r.Holder.Cooldown {
			held++
		}
		if r.bad {
			problems++
		}
		waiting += r.Waiting
	}
	problem := fmt.Sprintf("%d with problems", problems)
	if problems > 0 {
		problem = m.paint(console.Bad, problem)
	}
	text := fmt.Sprintf("%d held, %d waiting, %s  %s", held, waiting, problem, m.server)
	if m.prefix != "" {
		text += "  " + view.Text(m.prefix) + "..."
	}
	return text + m.aside()
}

// aside is how old the picture is, where that is not plain.
func (m *model) aside() string {
	switch {
	case m.paused:
		return "  " + m.paint(console.Bold, "paused "+console.Age(m.now().Sub(m.at))+" ago; space resumes")
	case m.err != nil:
		return "  " + m.paint(console.Bad, "no answer for "+console.Age(m.now().Sub(m.since)))
	case m.at.IsZero():
		return "  loading ..."
	}
	return ""
}

// status is the second line.
func (m *model) status() string {
	switch {
	case m.said != "":
		return m.said
	case m.typing:
		return "/" + m.filter + "_"
	case m.err != nil:
		return m.paint(console.Bad, view.Text(strings.ReplaceAll(m.err.Error(), "\n", "; ")))
	case m.filter != "":
		return fmt.Sprintf("/%s  %d of %d", m.filter, len(m.shown), len(m.rows))
	case m.refused > 0:
		return m.paint(console.Bad, fmt.Sprintf("%d names are left out: the server refused to show them", m.refused))
	}
	return ""
}

func (m *model) footer() string {
	if m.asking != nil {
		return "esc back, without a change  ctrl-c quit"
	}
	if m.detail != "" {
		return "esc back  up/down scroll  ctrl-d revoke  space pause  q quit"
	}
	order := m.sort
	if m.reverse {
		order += ", reversed"
	}
	return "enter details  ctrl-d revoke  / filter  s sort (" + order + ")  a all  ? keys  q quit"
}

// column is one column of the table.
type column struct {
	head      string
	minScreen int // width of the screen from which on it is shown
	share     int // its width, as a part of the screen's: 1/most; 0: what it needs
	cell      func(r topRow, since time.Duration) string
}

var allColumns = []column{
	{"NAME", 0, 3, func(r topRow, _ time.Duration) string { return view.Text(r.Name) }},
	{"HOLDER", 50, 4, func(r topRow, _ time.Duration) string { return r.Holders() }},
	{"HELD", 70, 0, func(r topRow, since time.Duration) string {
		if r.Holder == nil || r.Holder.Held <= 0 {
			return "-"
		}
		return console.Age((r.Holder.Held + since).Truncate(100 * time.Millisecond))
	}},
	{"LEFT", 20, 0, func(r topRow, since time.Duration) string {
		if r.Holder == nil || r.Holder.Remaining < 0 {
			return inspect.RemainingText(r.Holder)
		}
		return console.Age(max(0, r.Holder.Remaining-since).Truncate(100 * time.Millisecond))
	}},
	{"WAIT", 30, 0, func(r topRow, _ time.Duration) string { return fmt.Sprint(r.Waiting) }},
	{"WHY", 60, 0, func(r topRow, _ time.Duration) string { return view.Text(r.why) }},
}

// table is the head and at most page names around the cursor; page 0 is all, without
// a cursor.
func (m *model) table(page int) string {
	rows := m.shown
	if page > 0 {
		rows = rows[min(m.offset, len(rows)):min(m.offset+page, len(rows))]
	}
	since := time.Duration(0)
	if page > 0 && !m.paused && !m.at.IsZero() {
		since = m.now().Sub(m.at)
	}
	cells := make([][]string, len(rows)+1)
	for _, c := range allColumns {
		if m.width > 0 && m.width < c.minScreen {
			continue
		}
		cells[0] = append(cells[0], c.head)
		for i, r := range rows {
			cells[i+1] = append(cells[i+1], m.fitted(c, c.cell(r, since)))
		}
	}
	var b strings.Builder
	for i, line := range console.Columns(cells, math.MaxInt) {
		switch {
		case i == 0:
			line = m.paint(console.Bold, line)
		case page > 0 && m.offset+i-1 == m.cursor:
			line = m.paint(reversed, line)
		case rows[i-1].bad:
			line = m.paint(console.Bad, line)
		}
		if page > 0 {
			line = map[bool]string{true: "> ", false: "  "}[i > 0 && m.offset+i-1 == m.cursor] + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (m *model) fitted(c column, text string) string {
	if m.width > 0 && c.share > 0 {
		return ansi.Truncate(text, max(10, m.width/c.share), "~")
	}
	return text
}
