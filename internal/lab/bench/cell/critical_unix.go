//go:build unix

package cell

import (
	"os"
	"syscall"
	"time"
)

// mapShared maps a file so that every process which does so sees the same
// memory. It stays mapped until the process ends.
func mapShared(path string, size int) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping outlives it
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

// UsedCPU is the processor time that this process has used.
func UsedCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
