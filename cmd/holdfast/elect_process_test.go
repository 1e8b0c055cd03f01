//go:build unix

package main

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// startElect starts `holdfast elect FLAGS job -- sh -c script`.
func startElect(t *testing.T, serverURL, script string, flags ...string) *runner {
	t.Helper()
	r := newRun(t, serverURL, script, flags...)
	r.Args[1] = "elect"
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The leader is killed, with kill -9. Its command dies with it, and the next
// candidate runs its own when the ttl has ended.
func TestElectLeaderKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	a := startElect(t, server.URL(), note("pid", "$$")+idle, "--ttl", "4s", "--value", "a")
	pid := a.pid("pid")
	b := startElect(t, server.URL(), note("pid", "$$")+idle, "--ttl", "4s", "--value", "b")
	until(t, "b waits", func() bool { return strings.Contains(b.stderr.String(), "waiting: 1st in the queue; job is held by a") })
	a.send(syscall.SIGKILL)
	next := b.pid("pid")
	wantDead(t, "the command of the dead leader", pid)
	b.send(syscall.SIGTERM)
	b.wantExit(128 + int(syscall.SIGTERM))
	wantDead(t, "the command of the next leader", next)
}

// The leader is frozen past its ttl. Its command is dead before the next one
// runs; when it wakes up it says so and campaigns again.
func TestElectLeaderFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	a := startElect(t, server.URL(), note("pid", "$$")+idle, "--ttl", "4s", "--value", "a")
	pid := a.pid("pid")
	b := startElect(t, server.URL(), note("pid", "$$")+idle, "--ttl", "4s", "--value", "b")
	until(t, "b waits", func() bool { return strings.Contains(b.stderr.String(), "waiting: 1st in the queue; job is held by a") })
	a.send(syscall.SIGSTOP)
	b.pid("pid")
	wantDead(t, "the command of the frozen leader", pid)
	a.send(syscall.SIGCONT)
	until(t, "a campaigns again", func() bool { return strings.Contains(a.stderr.String(), "campaigning again") })
	a.wantSaid("holdfast: lost job (")
	if err := os.Remove(a.dir + "/pid"); err != nil {
		t.Fatal(err)
	}
	b.send(syscall.SIGTERM)
	b.wantExit(128 + int(syscall.SIGTERM))
	a.pid("pid") // of the second term
	a.send(syscall.SIGTERM)
	a.wantExit(128 + int(syscall.SIGTERM))
}

// A term that is lost, since the key was deleted, is followed by another one, at
// once; with --once it is the end.
func TestElectLost(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	a := startElect(t, server.URL(), note("pid", "$$")+idle, "--ttl", "4s")
	first := a.pid("pid")
	if err := os.Remove(a.dir + "/pid"); err != nil {
		t.Fatal(err)
	}
	deleteKey(t, server)
	second := a.pid("pid")
	wantDead(t, "the command of the lost term", first)
	if first == second {
		t.Errorf("pid %d in both terms", first)
	}
	a.wantSaid("lost job (gone: the key was deleted or lost): the command was stopped; campaigning again\n")
	a.send(syscall.SIGTERM)
	a.wantExit(128 + int(syscall.SIGTERM))

	once := startElect(t, server.URL(), note("pid", "$$")+idle, "--ttl", "4s", "--once")
	once.pid("pid")
	deleteKey(t, server)
	once.wantExit(cli.ExitLost)
}

// An observer ends when nobody reads what it prints, though the leader stays.
func TestObserveWithoutReader(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command("elect", "--observe", "job", "--redis", server.URL())
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasSuffix(line, "no leader\n") {
		t.Errorf("got %q, %v", line, err)
	}
	_ = out.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit code 0", err)
	}
}
