package console

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/holdfast-go/holdfast/internal/view"
)

// PrintJSON prints v as one object over several lines.
func PrintJSON(w io.Writer, v any) error { return printJSON(w, v, "  ") }

// PrintJSONLine prints v in one line, at once.
func PrintJSONLine(w io.Writer, v any) error { return printJSON(w, v, "") }

func printJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, view.TextJSON(text.String()))
	return err
}

// OrNull is nil for the empty text, which JSON shows as null.
func OrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
