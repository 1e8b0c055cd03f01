package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
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

// Handler is a slog.Handler for people: "holdfast: message key=value", without the
// time and the level that a terminal has no use for.
type Handler struct {
	slog.Handler // writes the attributes into out.text
	out          *handlerOutput
}

type handlerOutput struct {
	mu      sync.Mutex // protects text
	text    bytes.Buffer
	console *Lines
}

// NewHandler prints records of level and above to console.
func NewHandler(console *Lines, level slog.Leveler) *Handler {
	out := &handlerOutput{console: console}
	return &Handler{out: out, Handler: slog.NewTextHandler(&out.text, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && (attr.Key == slog.TimeKey || attr.Key == slog.LevelKey || attr.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return attr
		},
	})}
}

// Handle writes one record as one line.
func (t *Handler) Handle(ctx context.Context, record slog.Record) error {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	t.out.text.Reset()
	if err := t.Handler.Handle(ctx, record); err != nil {
		return err
	}
	text := strings.TrimPrefix(record.Message, "holdfast: ") // the console says that
	if attrs := strings.TrimSpace(t.out.text.String()); attrs != "" {
		text += " " + attrs
	}
	t.out.console.Line(text)
	return nil
}

// WithAttrs implements slog.Handler.
func (t *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{t.Handler.WithAttrs(attrs), t.out}
}

// WithGroup implements slog.Handler.
func (t *Handler) WithGroup(name string) slog.Handler {
	return &Handler{t.Handler.WithGroup(name), t.out}
}
