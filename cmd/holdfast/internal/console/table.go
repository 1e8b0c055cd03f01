package console

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// widestColumn is where a cell that is longer moves only the rest of its own row: one
// long name does not push all others off the screen.
const widestColumn = 48

// PrintTable prints rows as columns. The first row is the head.
func PrintTable(s Screen, rows [][]string) {
	for n, line := range Columns(rows, widestColumn) {
		if n == 0 {
			line = s.Paint(Bold, line)
		}
		s.Printf("%s\n", line)
	}
}

// Columns are rows with their cells as wide as the widest of their column, but no wider than
// widest, by the room that they take on a screen.
func Columns(rows [][]string, widest int) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(ansi.StringWidth(cell), widest))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			lines[n] += Padded(cell, widths[i]) + "  "
		}
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	return lines
}

// Padded is text with spaces behind it, width columns of a terminal wide. Colours take
// no column, wide characters take two.
func Padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
