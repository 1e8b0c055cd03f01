package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast/internal/view"
)

// erase empties the line where the cursor is, on a terminal.
const erase = "\r\x1b[K"

// console prints messages in whole lines, from any goroutine, and on a terminal a status
// line that is updated.
type console struct {
	mu     sync.Mutex
	w      io.Writer
	status bool // the cursor is on a status line
}

// newConsole prints to w.
func newConsole(w io.Writer) *console { return &console{w: w} }

// line says text in one line, in the place of the status line.
func (c *console) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text = view.Text(strings.ReplaceAll(text, "\n", "; "))
	fmt.Fprintf(c.w, "%sholdfast: %s\n", c.erased(), text)
}

// show puts text in the place of the status line, cut to the width of the terminal.
func (c *console) show(width int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, erase, ansi.Truncate("holdfast: "+view.Text(text), max(width-1, 0), ""))
	c.status = true
}

// clear takes the status line away.
func (c *console) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, c.erased())
}

// erased is the text that removes the status line, if there is one.
func (c *console) erased() string {
	if !c.status {
		return ""
	}
	c.status = false
	return erase
}
