package main

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/holdfast-go/holdfast/internal/view"
)

// printJSON prints v as one object over several lines.
func printJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, view.TextJSON(text.String()))
	return err
}

// printJSONLine prints v in one line, at once.
func printJSONLine(w io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, view.TextJSON(text.String()))
	return err
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
