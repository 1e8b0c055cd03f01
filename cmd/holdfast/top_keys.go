package main

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// key does what a key asks for.
func (m *topModel) key(key tea.KeyPressMsg) tea.Cmd {
	pressed := key.String()
	switch {
	case pressed == "ctrl+c":
		return tea.Quit
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
		m.sort = topSorts[(slices.Index(topSorts, m.sort)+1)%len(topSorts)]
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
func (m *topModel) eitherKey(pressed string) {
	switch pressed {
	case "space":
		m.paused = !m.paused
	case "?":
		m.help = !m.help
	}
}

func (m *topModel) detailKey(pressed string) tea.Cmd {
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
func (m *topModel) open() tea.Cmd {
	m.detail, m.lines, m.scrolled = m.chosen(), []string{"looking ..."}, 0
	return m.lookAtNow()
}

// typed takes in a key while the filter is typed.
func (m *topModel) typed(pressed, text string) {
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
		m.narrow(m.filter + visible(text))
	}
}

func (m *topModel) narrow(filter string) {
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
func (m *topModel) move(by int) {
	m.cursor = max(0, min(m.cursor+by, len(m.shown)-1))
	page := m.pageLength()
	m.offset = max(0, min(m.offset, m.cursor, len(m.shown)-page))
	m.offset = max(m.offset, m.cursor-page+1)
}
