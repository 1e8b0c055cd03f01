package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Age is a duration with the digits that people need.
func Age(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Count is n with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Duration is d as a table wants it: short, and never with six decimals.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Several is n with a noun, whose plural ends in s.
func Several(n int, what string) string { return Count(n, what, what+"s") }

// Milliseconds is d in ms, to the microsecond.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Shortly is a duration for people, however short.
func Shortly(d time.Duration) string {
	if d >= 10*time.Second {
		return Age(d)
	}
	return Duration(d)
}

// Stamp is a time for people, by the clock of this machine's place.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

// Since is how long ago a time was, for people.
func Since(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%s ago", Age(max(0, now.Sub(t))))
}

// Ordinal is 1st, 2nd and so on.
func Ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

// Wrapped cuts text into lines of at most width runes, between words.
func Wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// widestColumn bounds the width of a column. A longer cell moves only the rest of its own row,
// so one long name does not push all others off the screen.
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

// Columns returns rows as lines. Each cell is as wide on the screen as the widest of its
// column, but not wider than widest.
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
