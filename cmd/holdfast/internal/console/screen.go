// Package console writes for people and programs: screens with colours, tables, a status
// line, durations in words, and JSON. It knows nothing of locks.
package console

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Screen is where text for people goes, and what it can show.
type Screen struct {
	W        io.Writer
	Width    int
	Height   int // of a terminal; 0: unknown
	Terminal bool
	Colour   bool   // a terminal, and NO_COLOR is not set (no-color.org)
	Unicode  bool   // a terminal that says it knows UTF-8
	Failed   *error // of the first write that failed; nil: not kept
}

// ScreenOf finds out what w can show.
func ScreenOf(w io.Writer) Screen {
	s := Screen{W: w, Width: 80}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.Terminal = true
	s.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	locale := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	s.Unicode = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
	if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		s.Width, s.Height = width, height
	}
	return s
}

// Redraw shows lines from the top of a terminal, in place of what is there. It cuts them to the
// screen, and says how many lines are missing.
func (s Screen) Redraw(lines []string) {
	if most := s.Height - 1; s.Height > 2 && len(lines) > most {
		lines = append(slices.Clone(lines[:most-1]), fmt.Sprintf("... %d more", len(lines)-most+1))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines {
		b.WriteString(ansi.Truncate(line, s.Width, "") + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	s.Printf("%s", b.String())
}

// Printf keeps the first error of a page.
func (s Screen) Printf(format string, args ...any) {
	if _, err := fmt.Fprintf(s.W, format, args...); err != nil && s.Failed != nil && *s.Failed == nil {
		*s.Failed = err
	}
}

// The colours, by what they mean.
const (
	Bad  = "31"
	Warn = "33"
	Good = "32"
	Dim  = "2"
	Bold = "1"
)

// Paint colours text, if the screen shows colours.
func (s Screen) Paint(colour, text string) string {
	if !s.Colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
