package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// erase empties the line where the cursor is, on a terminal.
const erase = "\r\x1b[K"

// console is where we talk to people: whole lines, whoever says them, and on a
// terminal a status line that is kept up to date.
type console struct {
	mu     sync.Mutex
	w      io.Writer
	status bool // a status line stands where the cursor is
}

// line says text in one line, in the place of the status line.
func (c *console) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text = visible(strings.ReplaceAll(text, "\n", "; "))
	fmt.Fprintf(c.w, "%sholdfast: %s\n", c.erased(), text)
}

// show puts text in the place of the status line, cut to the width of the terminal.
func (c *console) show(width int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, erase, ansi.Truncate("holdfast: "+visible(text), max(width-1, 0), ""))
	c.status = true
}

// clear takes the status line away.
func (c *console) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, c.erased())
}

// erased is what takes the status line away, if one stands.
func (c *console) erased() string {
	if !c.status {
		return ""
	}
	c.status = false
	return erase
}
