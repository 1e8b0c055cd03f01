package redistest

import "syscall"

// dieWithParent makes the kernel kill the process when the test binary ends in
// a way that runs no cleanup: a panic, a timeout, kill -9.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
