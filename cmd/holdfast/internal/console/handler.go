package console

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// Handler is a slog.Handler for people: "holdfast: message key=value", without the
// time and the level that a terminal has no use for.
type Handler struct {
	out   *handlerOutput
	attrs slog.Handler // writes the attributes into out.text
}

type handlerOutput struct {
	mu      sync.Mutex // guards text
	text    bytes.Buffer
	console *Lines
}

// NewHandler prints records of level and above to console.
func NewHandler(console *Lines, level slog.Leveler) *Handler {
	out := &handlerOutput{console: console}
	return &Handler{out, slog.NewTextHandler(&out.text, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && (attr.Key == slog.TimeKey || attr.Key == slog.LevelKey || attr.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return attr
		},
	})}
}

// Enabled implements slog.Handler.
func (t *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return t.attrs.Enabled(ctx, level)
}

// Handle writes one record as one line.
func (t *Handler) Handle(ctx context.Context, record slog.Record) error {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	t.out.text.Reset()
	if err := t.attrs.Handle(ctx, record); err != nil {
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
	return &Handler{t.out, t.attrs.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (t *Handler) WithGroup(name string) slog.Handler {
	return &Handler{t.out, t.attrs.WithGroup(name)}
}
