package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// endsWith has the kernel kill this process, frozen or not, when its parent ends, however that
// ends. The kernel takes the thread that forked for the parent: threads of the tests live as long
// as these do.
func endsWith(parent int) {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	if os.Getppid() != parent { // it has just ended
		os.Exit(1)
	}
}

// endsWithTests is endsWith for other programs that tests start.
func endsWithTests() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
