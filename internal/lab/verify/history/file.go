package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
)

// Writer appends events to a file. Each is one write to the kernel, so what was
// noted outlives a kill -9 of the process. It is safe for concurrent use.
type Writer struct {
	file    *os.File
	process string

	mu     sync.Mutex // guards the rest
	buffer []byte
	err    error
}

// NewWriter appends to the file of that name; process is who writes.
func NewWriter(name, process string) (*Writer, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{file: file, process: process}, nil
}

// Note writes an event down. T, if 0, is now, Process the writer's own.
func (w *Writer) Note(e Event) {
	if e.T == 0 {
		e.T = Now()
	}
	if e.Process == "" {
		e.Process = w.process
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer = e.append(w.buffer[:0])
	if _, err := w.file.Write(w.buffer); err != nil && w.err == nil {
		w.err = err
	}
}

// Close closes the file, and says whether all events are in it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.err, w.file.Close())
}

// append writes the event as encoding/json would, at a tenth of the cost: a
// history has millions of them.
func (e *Event) append(b []byte) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, e.T, 10)
	b = text(b, "p", e.Process)
	b = text(b, "what", string(e.What))
	b = number(b, "a", e.Attempt)
	b = number(b, "c", e.Client)
	b = text(b, "kind", string(e.Kind))
	b = text(b, "mode", string(e.Mode))
	b = text(b, "name", e.Name)
	b = number(b, "w", e.Weight)
	b = number(b, "cap", e.Capacity)
	b = number(b, "tok", e.Token)
	b = number(b, "end", e.Deadline)
	b = number(b, "v", e.Version)
	b = number(b, "b", e.Base)
	b = number(b, "uv", e.Free)
	b = number(b, "ub", e.FreeOf)
	b = text(b, "class", string(e.Class))
	b = text(b, "detail", e.Detail)
	return append(b, '}', '\n')
}

func number(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, n, 10)
}

func text(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // no text is an error
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Parse takes the events of a file. A last line that is not whole is left out:
// its process died over it.
func Parse(r io.Reader) ([]Event, error) {
	var events []Event
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		var e Event
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return nil, fmt.Errorf("history: line %d: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
}

// Merge reads files and sorts their events by time. Those of one process stay in
// the order in which it noted them where their times are equal.
func Merge(names ...string) ([]Event, error) {
	var all []Event
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		events, err := Parse(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, events...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.T, b.T) })
	return all, nil
}

// Save writes events to a file.
func Save(name string, events []Event) error {
	var b []byte
	for i := range events {
		b = events[i].append(b)
	}
	return os.WriteFile(name, b, 0o600)
}
