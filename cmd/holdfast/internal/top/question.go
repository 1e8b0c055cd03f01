package top

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/operate"
	"github.com/holdfast-go/holdfast/internal/view"
)

// question asks for the holder, the reason and y, before a holder is revoked. It keeps the
// holders of the moment in which it began: no other is revoked.
type question struct {
	name    string
	holders []admin.Holder // to choose from; of the later steps only the chosen one
	more    int            // holders that are not listed
	at      int            // the holder under the cursor
	step    step
	reason  string
}

type step int

const (
	choose step = iota
	explain
	confirm
)

// topRevoked is the result of a revocation.
type topRevoked string

// revoke asks a holder to stop, as 'holdfast revoke' does.
func revoke(ctx context.Context, a *cli.App, client *connect.Session, name, tenure, reason string) topRevoked {
	notified, err := client.Admin.Revoke(ctx, name, tenure, operate.Options{Tenure: tenure, Reason: reason}.Signed(a.Owner))
	if err != nil {
		return topRevoked("not revoked: " + view.Text(strings.ReplaceAll(a.Explain(err), "\n", "; ")))
	}
	return topRevoked(operate.Asked(name, notified))
}

// ask asks about the name in the details, or under the cursor.
func (m *model) ask() {
	name := m.detail
	if name == "" {
		name = m.chosen()
	}
	at := slices.IndexFunc(m.rows, func(r topRow) bool { return r.Name == name })
	if name == "" || at < 0 {
		return
	}
	state := m.rows[at].State
	q := &question{name: name, holders: slices.Clone(operate.Holders(state))}
	switch n := len(q.holders); {
	case n == 0:
		m.said = view.Text(name) + " has no holder"
		return
	case n == 1 && q.holders[0].Foreign:
		m.said = "a client of another library holds " + view.Text(name) + ": it cannot be revoked"
		return
	case n == 1 && state.Holding <= 1:
		q.step = explain
	default:
		q.more = max(0, state.Holding-n)
	}
	m.help, m.asking = false, q
}

// answer takes in a key while something is asked.
func (m *model) answer(pressed, text string) tea.Cmd {
	q := m.asking
	switch {
	case pressed == "esc", q.step == confirm && pressed == "n":
		m.asking, m.said = nil, "nothing was changed"
	case q.step == choose && pressed == "enter":
		q.holders, q.at, q.more, q.step = q.holders[q.at:q.at+1], 0, 0, explain
	case q.step == choose:
		q.at = max(0, min(q.at+steps(pressed, m.pageLength(), len(q.holders)), len(q.holders)-1))
	case q.step == explain && pressed == "enter":
		if q.reason = strings.TrimSpace(q.reason); q.reason != "" {
			q.step = confirm
		}
	case q.step == explain:
		q.typed(pressed, text)
	case pressed == "y":
		m.asking, m.said = nil, "revoking ..."
		revoke := m.revoke
		return func() tea.Msg { return revoke(q.name, q.holders[0].Hash, q.reason) }
	}
	return nil
}

// typed takes in text of the reason.
func (q *question) typed(pressed, text string) {
	switch runes := []rune(q.reason); {
	case q.step != explain:
	case pressed == "ctrl+u":
		q.reason = ""
	case pressed == "backspace":
		q.reason = string(runes[:max(0, len(runes)-1)])
	default:
		q.reason += view.Text(text)
	}
}

// input is a text that is being typed: of a long one the end is shown.
func (m *model) input(label, text string) string {
	room := max(1, m.width-len(label)-1)
	if over := ansi.StringWidth(text) - room; m.width > 0 && over > 0 {
		text = ansi.TruncateLeft(text, over+1, "~")
	}
	return label + text + "_"
}

// lines returns the question and its holders.
func (q *question) lines(m *model) []string {
	var lines []string
	switch q.step {
	case choose:
		lines = []string{"which holder? select it with up and down, then press enter"}
	case explain:
		lines = []string{m.input("reason (the holder reads it): ", q.reason)}
	case confirm:
		lines = []string{m.paint(console.Bold, "ask this holder to stop? y/n"), "reason: " + q.reason}
	}
	page := max(1, m.pageLength()-len(lines)-1)
	from := max(0, min(q.at-page/2, len(q.holders)-page))
	for i := from; i < min(from+page, len(q.holders)); i++ {
		line := inspect.HolderLine(console.Screen{}, &q.holders[i])
		if i == q.at {
			line = m.paint(reversed, line)
		}
		lines = append(lines, map[bool]string{true: "> ", false: "  "}[i == q.at]+line)
	}
	if q.more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: select one with 'holdfast revoke'", q.more))
	}
	return lines
}
