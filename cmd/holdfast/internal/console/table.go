package console

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// widestColumn is where a cell that is longer moves only the rest of its own row: one
// long name does not push all others off the screen.
const widestColumn = 48

// PrintTable prints rows as columns as wide as their widest cell. The first row is the
// head.
func PrintTable(s Screen, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(ansi.StringWidth(cell), widestColumn))
		}
	}
	for n, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Padded(cell, widths[i])
		}
		text := strings.TrimRight(strings.Join(cells, "  "), " ")
		if n == 0 {
			text = s.Paint(Bold, text)
		}
		s.Printf("%s\n", text)
	}
}

// Padded is text with spaces behind it, width columns of a terminal wide. Colours take
// no column, wide characters take two.
func Padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
