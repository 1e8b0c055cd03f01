package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// On a terminal there is one line about the wait, kept up to date, cut to the
// width of the terminal and taken away when the wait is over.
func TestRunStatusLine(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	holder := startRun(t, server.URL(), note("pid", "$$")+idle, "--owner", "ci-7")
	holder.pid("pid")

	terminal, _, screen := openTerminal(t, 100)
	r := newRun(t, server.URL(), "exit 5", "--owner", strings.Repeat("long", 10))
	r.Stderr = terminal
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	until(t, "two states of the line", func() bool {
		return strings.Count(screen.String(), "\r\x1b[Kholdfast: waiting: 1st in the queue; job is held by ci-7 for ") >= 2
	})
	holder.send(syscall.SIGTERM)
	r.wantExit(5)
	until(t, "the line is taken away", func() bool { return strings.HasSuffix(screen.String(), "\r\x1b[K") })
	if got := screen.String(); strings.Contains(got, "\n") {
		t.Errorf("the terminal shows %q, want one line", got)
	}
}

// A command can read from the terminal, although its group is not the one in the
// foreground; what ctrl-C sends to that one, reaches it once.
func TestRunOnTerminal(t *testing.T) {
	t.Parallel()
	terminal, keys, screen := openTerminal(t, 100)
	r := newRun(t, startServer(t).URL(), "trap 'exit 40' INT\nread line\necho got $line\n"+note("pid", "$$")+idle)
	r.Stdin, r.Stdout, r.Stderr = terminal, terminal, terminal
	r.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	fmt.Fprintln(keys, "text")
	until(t, "the command has read it", func() bool { return strings.Contains(screen.String(), "got text") })
	r.pid("pid")
	fmt.Fprint(keys, "\x1a") // ctrl-Z
	until(t, "ctrl-Z is refused", func() bool { return strings.Contains(screen.String(), "ctrl-Z is refused") })
	fmt.Fprint(keys, "\x03") // ctrl-C
	r.wantExit(40)
}

// openTerminal gives the inner end of a new terminal, its keyboard, and what is
// shown on it.
func openTerminal(t *testing.T, width uint16) (inner, keys *os.File, shown *lockedBuffer) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outer.Close() })
	fd := int(outer.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width})
	}
	if err != nil {
		t.Fatal(err)
	}
	inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown = &lockedBuffer{}
	go func() {
		buffer := make([]byte, 1024)
		for {
			n, err := outer.Read(buffer)
			if err != nil {
				return
			}
			_, _ = shown.Write(buffer[:n])
		}
	}()
	return inner, outer, shown
}

// At 80 columns the line shows the place, and the estimate that the journal of the name
// allows: the usual hold of one waiter before us.
func TestRunStatusLineEstimates(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for range 3 {
		startRun(t, server.URL(), "true").wantExit(0)
	}
	holder := startRun(t, server.URL(), note("pid", "$$")+idle, "--owner", strings.Repeat("holder", 10))
	holder.pid("pid")
	startRun(t, server.URL(), "true").says("waiting: 1st in the queue; ")

	terminal, _, screen := openTerminal(t, 80)
	r := newRun(t, server.URL(), "exit 5")
	r.Stderr = terminal
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	until(t, "the place and an estimate are shown", func() bool {
		return strings.Contains(screen.String(), "\r\x1b[Kholdfast: waiting: 2nd in the queue, about 1s; job is held by holder")
	})
	holder.send(syscall.SIGTERM)
	r.wantExit(5)
}
