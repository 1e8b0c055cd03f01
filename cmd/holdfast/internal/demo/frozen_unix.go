//go:build unix

package demo

import (
	"os"
	"syscall"
)

// freezing are the signals that stop a process, and let it go on.
var freezing = map[bool]os.Signal{true: syscall.SIGSTOP, false: syscall.SIGCONT}
