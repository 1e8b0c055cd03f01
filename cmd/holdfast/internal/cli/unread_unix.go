//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// hungUp reports whether file, a pipe or a socket, has no reader.
func hungUp(file *os.File) bool {
	polled := []unix.PollFd{{Fd: int32(file.Fd())}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0 && polled[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
