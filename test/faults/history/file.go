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
	"sync"
)

// Writer appends events to a file. Each is one write to the kernel, so what was
// noted outlives a kill -9 of the process. It is safe for concurrent use.
type Writer struct {
	file    *os.File
	process string

	mu  sync.Mutex // protects err
	err error
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
	line, err := json.Marshal(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		_, err = w.file.Write(append(line, '\n'))
	}
	w.err = cmp.Or(w.err, err)
}

// Close closes the file, and says whether all events are in it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.err, w.file.Close())
}

// parse takes the events of a file. A last line that is not whole is left out:
// its process died over it.
func parse(r io.Reader) ([]Event, error) {
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
		events, err := parse(file)
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
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for i := range events {
		if err := lines.Encode(&events[i]); err != nil {
			return err
		}
	}
	return os.WriteFile(name, b.Bytes(), 0o600)
}
