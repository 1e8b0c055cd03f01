package history_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// What is written is read again, merged by time; a line that its process died
// over is left out.
func TestWriteReadMerge(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	full := history.Event{
		T: 3, Process: "p", What: history.Granted, Attempt: 4, Client: 13, Kind: history.Multi, Mode: history.Shared, Name: `a "name" \ ü`,
		Weight: 5, Capacity: 6, Token: 1 << 52, Deadline: 8, Version: 9, Base: 10, Free: 11, FreeOf: 12,
		Class: history.Taken, Detail: "two\nlines <&>",
	}
	want := []history.Event{{T: 1, Process: "B", What: history.Start}, {T: 2, Process: "A", What: history.Start}, full}
	for name, events := range map[string][]history.Event{a: {want[1], full}, b: {want[0]}} {
		w, err := history.NewWriter(name, map[string]string{a: "A", b: "B"}[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Process != "p" {
				e.Process = ""
			}
			w.Note(e)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b, append(text, `{"t":17,"p":`...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := history.Merge(a, b)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
