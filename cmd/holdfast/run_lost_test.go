//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// Somebody deletes the key: the command is asked to stop, and has time to.
func TestRunLost(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), "trap 'echo >asked; exit 0' TERM\n"+note("pid", "$$")+idle, "--ttl", "4s")
	pid := r.pid("pid")
	deleteKey(t, server)
	r.wantExit(cli.ExitLost)
	r.wantSaid("holdfast: lost job (gone: the key was deleted or lost): the command was stopped")
	wantDead(t, "the command", pid)
	if !r.exists("asked") {
		t.Error("the command got no TERM")
	}
	startRun(t, server.URL(), "true", "-n").wantExit(0)
}

// One that does not want to stop is made to, with all its group. A stopped one
// gets the TERM too.
func TestRunLostStubborn(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), "trap '' TERM\n(trap '' TERM; "+note("child", "$PPID")+idle+") &\n"+note("pid", "$$")+idle, "--ttl", "4s")
	pid := r.pid("pid")
	r.pid("child")
	deleteKey(t, server)
	r.wantExit(cli.ExitLost)
	wantDead(t, "the command's group", -pid)
}

func TestRunLostWhileStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), "trap 'echo >asked; exit 0' TERM\n"+note("pid", "$$")+idle, "--ttl", "6s")
	pid := r.pid("pid")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	deleteKey(t, server)
	r.wantExit(cli.ExitLost)
	if !r.exists("asked") {
		t.Error("the stopped command got no TERM")
	}
}

// The server is gone for good: the command ends in time, without an answer.
func TestRunServerGone(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), "trap 'echo >asked; exit 0' TERM\n"+note("pid", "$$")+idle, "--ttl", "4s")
	pid := r.pid("pid")
	server.Close()
	r.wantExit(cli.ExitLost)
	r.wantSaid("lost job (no renewal was answered in time): the command was stopped")
	wantDead(t, "the command", pid)
	if !r.exists("asked") {
		t.Error("the command got no TERM")
	}
}

// A command that lives longer than the ttl is renewed.
func TestRunRenews(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	r := startRun(t, startServer(t).URL(), "sleep 9; exit 5", "--ttl", "4s")
	r.wantExit(5)
	if got := r.stderr.String(); strings.Contains(got, "holdfast:") {
		t.Errorf("said %q, want nothing", got)
	}
}
