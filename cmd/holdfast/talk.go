package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// talk is a slog.Handler for people: "holdfast: message key=value", without the
// time and the level that a terminal has no use for.
type talk struct {
	out   *talkOutput
	attrs slog.Handler // writes the attributes into out.line
}

type talkOutput struct {
	mu   sync.Mutex // one line at a time
	line bytes.Buffer
	w    io.Writer
}

func newTalk(w io.Writer, level slog.Leveler) *talk {
	out := &talkOutput{w: w}
	return &talk{out, slog.NewTextHandler(&out.line, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && (attr.Key == slog.TimeKey || attr.Key == slog.LevelKey || attr.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return attr
		},
	})}
}

func (t *talk) Enabled(ctx context.Context, level slog.Level) bool {
	return t.attrs.Enabled(ctx, level)
}

func (t *talk) Handle(ctx context.Context, record slog.Record) error {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	t.out.line.Reset()
	if err := t.attrs.Handle(ctx, record); err != nil {
		return err
	}
	text := record.Message
	if attrs := strings.TrimSpace(t.out.line.String()); attrs != "" {
		text += " " + attrs
	}
	_, err := fmt.Fprintf(t.out.w, "holdfast: %s\n", text)
	return err
}

func (t *talk) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &talk{t.out, t.attrs.WithAttrs(attrs)}
}

func (t *talk) WithGroup(name string) slog.Handler {
	return &talk{t.out, t.attrs.WithGroup(name)}
}
