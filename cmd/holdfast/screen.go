package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen is where text for people goes, and what it can show.
type screen struct {
	w        io.Writer
	width    int
	terminal bool
	colour   bool   // a terminal, and NO_COLOR is not set (no-color.org)
	unicode  bool   // a terminal that says it knows UTF-8
	failed   *error // of the first write that failed; nil: not kept
}

func screenOf(w io.Writer) screen {
	s := screen{w: w, width: 80}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.terminal = true
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	locale := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	s.unicode = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		s.width = width
	}
	return s
}

func (s screen) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil && s.failed != nil && *s.failed == nil {
		*s.failed = err
	}
}

// The colours, by what they mean.
const (
	bad  = "31"
	warn = "33"
	good = "32"
	dim  = "2"
	bold = "1"
)

func (s screen) paint(colour, text string) string {
	if !s.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
