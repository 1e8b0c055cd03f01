package main

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endsWith ends this process when the tests end, however they end. If it is their child, the
// kernel kills it, though it is frozen: it takes the thread that forked for the parent, and
// threads of the tests live as long as these do.
func endsWith(tests int) {
	if os.Getppid() == tests {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	}
	go func() { // a shell may have started it, or the tests were killed just now
		for syscall.Kill(tests, 0) == nil {
			time.Sleep(time.Second)
		}
		os.Exit(1)
	}()
}

// endsWithTests does that for other programs that tests start.
func endsWithTests() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
