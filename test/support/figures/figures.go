// Package figures has what the reports of the tests have in common: JSON of which a row
// stands in one line, and figures as text.
package figures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// Median is the middle value, or the mean of the two in the middle; 0 of none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Thousands is 1,234,567.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// WriteJSON writes an object: each element of a member that is an object or a list
// stands in a line of its own, so that a diff shows the rows that changed.
func WriteJSON(w io.Writer, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := broken(&b, text, 2, ""); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = w.Write(b.Bytes())
	return err
}

// SaveJSON writes an object to a file, as WriteJSON does.
func SaveJSON(file string, object any) error {
	var b bytes.Buffer
	if err := WriteJSON(&b, object); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// ReadJSON reads a file into v.
func ReadJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// broken writes a value of compact JSON with line breaks to a depth.
func broken(b *bytes.Buffer, text []byte, depth int, indent string) error {
	if depth == 0 || len(text) <= len("{}") || text[0] != '{' && text[0] != '[' {
		b.Write(text)
		return nil
	}
	b.WriteByte(text[0])
	in := json.NewDecoder(bytes.NewReader(text))
	if _, err := in.Token(); err != nil { // the bracket
		return err
	}
	for comma := ""; in.More(); comma = "," {
		b.WriteString(comma + "\n" + indent + "  ")
		if text[0] == '{' {
			key, err := in.Token()
			if err != nil {
				return err
			}
			name, err := json.Marshal(key)
			if err != nil {
				return err
			}
			b.Write(append(name, ": "...))
		}
		var element json.RawMessage
		if err := in.Decode(&element); err != nil {
			return err
		}
		if err := broken(b, element, depth-1, indent+"  "); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent)
	b.WriteByte(text[len(text)-1])
	return nil
}
