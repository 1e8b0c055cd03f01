//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// until polls until ok, and fails the test when that takes too long.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}

// runner is `holdfast run` as a process, and where its command leaves notes.
type runner struct {
	*exec.Cmd
	t      *testing.T
	dir    string // the command's working directory
	stderr lockedBuffer
	once   sync.Once
}

// startRun starts `holdfast run FLAGS job -- sh -c script` with a directory of
// its own.
func startRun(t *testing.T, serverURL, script string, flags ...string) *runner {
	t.Helper()
	r := newRun(t, serverURL, script, flags...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func newRun(t *testing.T, serverURL, script string, flags ...string) *runner {
	t.Helper()
	args := append([]string{"run", "--redis", serverURL}, flags...)
	r := &runner{t: t, dir: t.TempDir(), Cmd: command(append(args, "job", "--", "sh", "-c", script)...)}
	r.Dir, r.Stderr, r.Stdout = r.dir, &r.stderr, &r.stderr
	r.WaitDelay = time.Second
	t.Cleanup(r.end)
	return r
}

func (r *runner) end() {
	if r.Process != nil {
		_ = r.Process.Kill()
		r.once.Do(func() { _ = r.Wait() })
	}
	if r.t.Failed() {
		r.t.Logf("holdfast said:\n%s", &r.stderr)
	}
}

// exit waits for the end and gives the exit code, -1 for a signal.
func (r *runner) exit() int {
	r.t.Helper()
	r.once.Do(func() {
		timer := time.AfterFunc(patience, func() { _ = r.Process.Kill() })
		defer timer.Stop()
		_ = r.Wait()
	})
	return r.ProcessState.ExitCode()
}

func (r *runner) wantExit(want int) {
	r.t.Helper()
	if got := r.exit(); got != want {
		r.t.Errorf("exit code %d, want %d", got, want)
	}
}

func (r *runner) wantSaid(want string) {
	r.t.Helper()
	if got := r.stderr.String(); !strings.Contains(got, want) {
		r.t.Errorf("said %q, want it to say %q", got, want)
	}
}

// send sends a signal to `holdfast run`, and to nothing else.
func (r *runner) send(sig syscall.Signal) {
	r.t.Helper()
	if err := r.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// pid waits for the number that the script writes by note.
func (r *runner) pid(name string) int {
	r.t.Helper()
	var pid int
	until(r.t, "the command writes "+name, func() bool {
		text, err := os.ReadFile(filepath.Join(r.dir, name))
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	return pid
}

func (r *runner) exists(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

// write makes a file in the command's working directory.
func (r *runner) write(name string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// note is a line of a script that writes value into the file name, all at once.
func note(name, value string) string {
	return "echo " + value + " >" + name + ".new; mv " + name + ".new " + name + "\n"
}

// idle is the end of a script that goes on until it is stopped.
const idle = "\nwhile :; do sleep 0.02; done\n"

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func wantDead(t *testing.T, what string, pid int) {
	t.Helper()
	if alive(pid) {
		t.Errorf("%s (pid %d) is alive, want it dead", what, pid)
	}
}

// lockedBuffer is a bytes.Buffer for a writer and a reader at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
