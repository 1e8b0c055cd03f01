//go:build unix

package versions_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// saw is what one call of a worker came to.
type saw struct {
	word  string // granted, refused or failed
	token int64
	text  string
}

// worker is a process that runs ./worker.
type worker struct {
	cmd     *exec.Cmd
	version int
	ended   chan struct{} // closed when all was read
	stderr  strings.Builder

	mu  sync.Mutex
	saw []saw // protected by mu
}

func start(t *testing.T, version int, program, url, file string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(program, url, name, file), version: version, ended: make(chan struct{})} //nolint:noctx // it is told to end
	w.cmd.Stderr = &w.stderr
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Launch(w.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		defer close(w.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			word, text, _ := strings.Cut(lines.Text(), " ")
			token, _ := strconv.ParseInt(text, 10, 64)
			w.mu.Lock()
			w.saw = append(w.saw, saw{word, token, text})
			w.mu.Unlock()
		}
	}()
	return w
}

// all are the calls so far that ended with a word.
func (w *worker) all(word string) (all []saw) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.saw {
		if s.word == word {
			all = append(all, s)
		}
	}
	return all
}

// stop lets the worker end as a deploy does.
func (w *worker) stop(t *testing.T) {
	t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	clienttest.Closed(t, "a worker ends", w.ended)
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("a worker of version %d: %v: %s", w.version, err, w.stderr.String())
	}
	for _, s := range w.all("failed") {
		t.Errorf("a worker of version %d failed: %s", w.version, s.text)
	}
}

// build builds the worker.
func build(t *testing.T, flags ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "worker")
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", program, "./worker")...) //nolint:noctx // it ends by itself
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// Four workers of version 1 are replaced, one after the other, by workers of version 2. No two
// workers hold the name at a time, and each call of each worker ends.
//
// Version 2 stays away as long as version 1 holds the name or waits for it, and takes it when it
// finds it idle. From then on version 1 gets ErrVersion, also in a process that starts later.
func TestRollingDeploy(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	v1, v2 := build(t), build(t, "-overlay", laterVersion(t))
	file := filepath.Join(t.TempDir(), "held")
	has := func(w *worker, n int, word string) {
		t.Helper()
		clienttest.Eventually(t, fmt.Sprintf("a worker of version %d is %s", w.version, word), func() bool { return len(w.all(word)) >= n })
	}

	var old, replaced []*worker
	for range 4 {
		old = append(old, start(t, 1, v1, server.URL(), file))
	}
	for _, w := range old {
		has(w, 3, "granted")
	}
	for i, w := range old {
		w.stop(t)
		replaced = append(replaced, start(t, 2, v2, server.URL(), file))
		if i == 0 {
			has(replaced[0], 1, "refused") // three workers want the name all the time
		}
		clienttest.Eventually(t, "the new worker has called a few times", func() bool {
			return len(replaced[i].all("granted"))+len(replaced[i].all("refused")) >= 10
		})
	}
	for _, w := range replaced {
		has(w, 3, "granted")
	}
	back := start(t, 1, v1, server.URL(), file)
	has(back, 3, "refused")
	for _, w := range append(replaced, back) {
		w.stop(t)
	}

	var newest, first int64
	for _, w := range append(old, back) {
		for _, s := range w.all("granted") {
			newest = max(newest, s.token)
		}
		check(t, w, "protocol 2, this process has 1")
	}
	for _, w := range replaced {
		for _, s := range w.all("granted") {
			if first == 0 || s.token < first {
				first = s.token
			}
		}
		check(t, w, "protocol 1, this process has 2")
	}
	if newest >= first {
		t.Errorf("version 1 got token %d, version 2 got %d before: both use the name at a time", newest, first)
	}
	if n := len(back.all("granted")); n > 0 {
		t.Errorf("version 1 got the name %d times behind version 2", n)
	}
}

// check logs what a worker saw, and wants every refusal to say what was met.
func check(t *testing.T, w *worker, want string) {
	t.Helper()
	t.Logf("version %d: granted %d, refused %d", w.version, len(w.all("granted")), len(w.all("refused")))
	for _, s := range w.all("refused") {
		if !strings.Contains(s.text, want) {
			t.Errorf("version %d was refused with %q, want %q", w.version, s.text, want)
		}
	}
}
