package console

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast/internal/view"
)

// Erase empties the line where the cursor is, on a terminal.
const Erase = "\r\x1b[K"

// Lines prints messages in whole lines, from any goroutine, and on a terminal a status
// line that is updated.
type Lines struct {
	mu     sync.Mutex
	w      io.Writer
	status bool // the cursor is on a status line
}

// NewLines prints to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// Line says text in one line, in the place of the status line.
func (c *Lines) Line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text = view.Text(strings.ReplaceAll(text, "\n", "; "))
	fmt.Fprintf(c.w, "%sholdfast: %s\n", c.erased(), text)
}

// Show puts text in the place of the status line, cut to the width of the terminal.
func (c *Lines) Show(width int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, Erase, ansi.Truncate("holdfast: "+view.Text(text), max(width-1, 0), ""))
	c.status = true
}

// Clear takes the status line away.
func (c *Lines) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, c.erased())
}

// erased is the text that removes the status line, if there is one.
func (c *Lines) erased() string {
	if !c.status {
		return ""
	}
	c.status = false
	return Erase
}
