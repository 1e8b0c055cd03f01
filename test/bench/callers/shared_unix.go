//go:build unix

package callers

import (
	"os"
	"syscall"
)

// mapShared maps a file so that every process which does so sees the same memory, until it
// ends.
func mapShared(path string, size int) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping outlives it
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}
