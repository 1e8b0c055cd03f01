//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
)

// watcher is `holdfast watch` as a process, and a journal that it watches.
type watcher struct {
	*exec.Cmd
	lines  chan string
	writer *journal.Writer
	out    *os.File // where we read from
}

func startWatch(t *testing.T, args ...string) *watcher {
	t.Helper()
	server, err := dev.StartEmbedded("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w := &watcher{Cmd: command(append([]string{"watch", "--redis", server.URL()}, args...)...), lines: make(chan string, 1000)}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out, w.Stdout = out, in
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	t.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.lines <- lines.Text()
		}
	}()
	w.writer = newJournal(t, server)
	until(t, "it watches", func() bool { // it knows where the end is
		w.writer.Note(journal.Entry{Event: journal.Skipped, Name: "x:first"})
		select {
		case <-w.lines:
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	})
	return w
}

func newJournal(t *testing.T, server *embedded.Store) *journal.Writer {
	t.Helper()
	w := journal.NewWriter(server, &journal.Options{Owner: "me", Every: time.Millisecond})
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// find waits for a line with some words in it.
func (w *watcher) find(t *testing.T, words ...string) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line := <-w.lines:
			found := true
			for _, word := range words {
				found = found && strings.Contains(line, word)
			}
			if found {
				return line
			}
		case <-deadline:
			t.Fatalf("no line with %q came", words)
		}
	}
}

// ended waits for the end and gives how it was.
func (w *watcher) ended(t *testing.T) *os.ProcessState {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = w.Process.Kill() })
	defer timer.Stop()
	_ = w.Wait()
	return w.ProcessState
}

// What happens is shown as it happens, for those names that are asked for; ctrl-C
// ends it, and is no failure.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "x:")
	w.writer.Note(journal.Entry{Event: journal.Skipped, Name: "other"})
	w.writer.Note(journal.Entry{Event: journal.Granted, Name: "x:1", Kind: holdfast.KindMutex, Token: 42, Waited: time.Second})
	w.writer.Note(journal.Entry{Event: journal.Revoked, Name: "x:1", Token: 42, Held: 90 * time.Second, Cause: holdfast.Revoked, Reason: "drained \x1b[31m"})
	if line := w.find(t, "granted ", "x:1  me  token 42 after 1.00 s"); strings.Contains(line, "other") {
		t.Errorf("got %q", line)
	}
	w.find(t, "revoked ", `token 42 held for 1m30s: revoked: drained _[31m`)
	if err := w.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := w.ended(t).ExitCode(); got != 0 {
		t.Errorf("exit code: got %d, want 0", got)
	}
}

// A line of JSON for each entry.
func TestWatchJSON(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "-o", "json")
	w.writer.Note(journal.Entry{Event: journal.Ended, Name: "n", Token: 42, Held: time.Second, Code: 3})
	var e struct {
		What string  `json:"event"`
		Held float64 `json:"held_ms"`
		Code *int    `json:"code"`
	}
	if err := json.Unmarshal([]byte(w.find(t, `"ended"`)), &e); err != nil || e.What != "ended" || e.Held != 1000 || e.Code == nil || *e.Code != 3 {
		t.Errorf("got %+v, %v", e, err)
	}
}

// It ends when nobody reads what it prints, also when there is nothing to print.
func TestWatchWithoutReader(t *testing.T) {
	t.Parallel()
	w := startWatch(t)
	_ = w.out.Close()
	if state := w.ended(t); state.ExitCode() != 0 {
		t.Errorf("got %v, want exit code 0", state)
	}
}
