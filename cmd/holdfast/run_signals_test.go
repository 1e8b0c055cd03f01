//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func TestRunPassesSignals(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	caught := make(chan os.Signal, len(signals))
	for _, sig := range signals {
		signal.Notify(caught, sig) // what is caught is the default in a command; what nohup has us ignore stays ignored there
	}
	defer signal.Stop(caught)
	server := startServer(t)
	for _, sig := range signals {
		t.Run(sig.String(), func(t *testing.T) {
			r := startRun(t, server.URL(), fmt.Sprintf("trap 'exit 40' %d\n", int(sig))+note("pid", "$$")+idle)
			r.pid("pid")
			r.send(sig)
			r.wantExit(40)
		})
	}
}

func TestRunSignalKillsCommand(t *testing.T) {
	r := startRun(t, startServer(t).URL(), note("pid", "$$")+idle)
	pid := r.pid("pid")
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
	wantDead(t, "the command", pid)
}

// What nohup ignores stays ignored, by us and by the command.
func TestRunNohup(t *testing.T) {
	r := newRun(t, startServer(t).URL(), note("pid", "$$")+idle)
	holdfast := r.Path
	r.Path, r.Args = lookPath(t, "sh"), append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, holdfast}, r.Args[1:]...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	pid := r.pid("pid")
	r.send(syscall.SIGHUP)
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
}

// A signal while waiting: the command never starts, and nobody stays in line.
func TestRunInterruptedWait(t *testing.T) {
	server := startServer(t)
	holder := startRun(t, server.URL(), note("pid", "$$")+idle)
	holder.pid("pid")
	r := startRun(t, server.URL(), "touch ran", "--owner", "second")
	until(t, "it waits", func() bool { return strings.Contains(r.stderr.String(), "waiting") })
	r.send(syscall.SIGUSR1) // not for us
	r.send(syscall.SIGINT)
	r.wantExit(130)
	if r.exists("ran") {
		t.Error("the command ran")
	}
	holder.send(syscall.SIGTERM)
	holder.exit()
	startRun(t, server.URL(), "true", "-n").wantExit(0)
}

// ctrl-Z would leave a lock behind that is renewed and does nothing.
func TestRunRefusesToStop(t *testing.T) {
	r := startRun(t, startServer(t).URL(), "trap 'exit 40' TERM\n"+note("pid", "$$")+idle)
	r.pid("pid")
	r.send(syscall.SIGTSTP)
	until(t, "it says so", func() bool { return strings.Contains(r.stderr.String(), "ctrl-Z is refused") })
	r.send(syscall.SIGTERM)
	r.wantExit(40)
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
