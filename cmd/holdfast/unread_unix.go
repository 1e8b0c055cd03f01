//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hungUp tells that nobody reads what is written to file, a pipe or a socket.
func hungUp(file *os.File) bool {
	polled := []unix.PollFd{{Fd: int32(file.Fd())}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0 && polled[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
