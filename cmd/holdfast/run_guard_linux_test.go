package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// stubborn is a command that ignores TERM, with a child that has left its group
// and its session. Their numbers are in the notes pid and escaped, the guard's
// in guard.
var stubborn = "trap '' TERM\nsetsid sleep 600 &\n" + note("escaped", "$!") + note("guard", "$PPID") + note("pid", "$$") + idle

// overlap is a command that fails if one of the processes is alive. Its turn
// comes when Redis has ended the lease of the one before: no clock is asked.
func overlap(pids ...int) string {
	script := ""
	for _, pid := range pids {
		script += fmt.Sprintf("kill -0 %d 2>/dev/null && exit 1\n", pid)
	}
	return script + "exit 0"
}

func TestRunKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), stubborn, "--ttl", "4s")
	pid, escaped := r.pid("pid"), r.pid("escaped")
	next := startRun(t, server.URL(), overlap(pid, escaped))
	r.send(syscall.SIGKILL)
	r.wantExit(-1)
	next.wantExit(0)
}

func TestRunFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), stubborn, "--ttl", "4s")
	pid, escaped := r.pid("pid"), r.pid("escaped")
	next := startRun(t, server.URL(), overlap(pid, escaped))
	r.send(syscall.SIGSTOP)
	next.wantExit(0)
	r.send(syscall.SIGCONT)
	r.wantExit(cli.ExitLost)
}

// Without its guard the command dies at once, and we say so when all is dead.
func TestRunGuardKilled(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), stubborn)
	pid, escaped := r.pid("pid"), r.pid("escaped")
	next := startRun(t, server.URL(), overlap(pid, escaped))
	if err := syscall.Kill(r.pid("guard"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.wantExit(cli.ExitSoftware)
	r.wantSaid("the guard process was killed, so the command was stopped")
	wantDead(t, "the command", pid)
	wantDead(t, "the command's child", escaped)
	next.wantExit(0)
}

// When `holdfast run` can't see that its guard was killed, the kernel does.
func TestRunGuardKilledWhileFrozen(t *testing.T) {
	t.Parallel()
	r := startRun(t, startServer(t).URL(), stubborn)
	pid := r.pid("pid")
	r.send(syscall.SIGSTOP)
	if err := syscall.Kill(r.pid("guard"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the command is dead, if not waited for", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	r.send(syscall.SIGCONT)
	r.exit()
	wantDead(t, "the command's child", r.pid("escaped"))
}

// A frozen guard can't stop anything: then we do.
func TestRunGuardFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), stubborn, "--ttl", "4s")
	pid, escaped := r.pid("pid"), r.pid("escaped")
	if err := syscall.Kill(r.pid("guard"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	deleteKey(t, server)
	r.wantExit(cli.ExitLost)
	wantDead(t, "the command", pid)
	wantDead(t, "the command's child", escaped)
}

// What a command leaves behind is dead before the name is given back.
func TestRunLeftovers(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), "setsid sleep 600 &\n"+note("escaped", "$!")+"sleep 600 &\n"+note("left", "$!")+"exit 6")
	r.wantExit(6)
	wantDead(t, "a process of the group", r.pid("left"))
	wantDead(t, "one that left the group", r.pid("escaped"))
}

// Children that a shell left us by exec are none of the job's.
func TestRunSparesOlderChildren(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	r := newRun(t, startServer(t).URL(), "trap '' TERM\n"+note("guard", "$PPID")+note("pid", "$$")+idle)
	holdfast := r.Path
	r.Path, r.Args = lookPath(t, "sh"), append([]string{"sh", "-c", "sleep 600 >/dev/null 2>&1 &\n" + note("older", "$!") + `exec "$0" "$@"`, holdfast}, r.Args[1:]...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	older, pid := r.pid("older"), r.pid("pid")
	defer func() { _ = syscall.Kill(older, syscall.SIGKILL) }()
	if err := syscall.Kill(r.pid("guard"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.wantExit(cli.ExitSoftware)
	wantDead(t, "the command", pid)
	if !alive(older) {
		t.Error("a child from before was killed")
	}
}

// Open files beyond the usual three reach the command too.
func TestRunPassesFiles(t *testing.T) {
	t.Parallel()
	r := newRun(t, startServer(t).URL(), `echo $(cat <&3) $(cat <&4)`)
	for _, text := range []string{"three", "four"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		fmt.Fprint(write, text)
		write.Close()
		r.ExtraFiles = append(r.ExtraFiles, read)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.wantExit(0)
	if got, want := r.stderr.String(), "three four\n"; got != want {
		t.Errorf("the command sees %q, want %q", got, want)
	}
}

// The guard's pipes are not for the command: it could keep them open.
func TestRunKeepsPipes(t *testing.T) {
	t.Parallel()
	r := startRun(t, startServer(t).URL(), note("guard", "$PPID")+note("pid", "$$")+idle)
	pid, guard := r.pid("pid"), r.pid("guard")
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", guard))
	if err != nil {
		t.Fatal(err)
	}
	_, pipes, _ := strings.Cut(string(cmdline), "--guard=")
	var orders, reports int
	if _, err := fmt.Sscanf(pipes, "%d,%d", &orders, &reports); err != nil {
		t.Fatalf("a guard's command line is %q: %v", cmdline, err)
	}
	files := openFiles(t, pid)
	for _, fd := range []int{orders, reports} {
		pipe := openFiles(t, guard)[fd]
		for n, file := range files {
			if file == pipe {
				t.Errorf("file %d of the command is the guard's %d", n, fd)
			}
		}
	}
}

// openFiles says what stands behind the file descriptors of a process.
func openFiles(t *testing.T, pid int) map[int]string {
	t.Helper()
	files := map[int]string{}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, entry.Name()))
		n, _ := strconv.Atoi(entry.Name())
		if err == nil {
			files[n] = link
		}
	}
	return files
}
