package process_test

import "syscall"

// dieWithParent makes the kernel kill a child, frozen or not, when this process
// ends in a way that runs no cleanup.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
