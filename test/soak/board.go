//go:build linux

package main

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// board is memory that all processes share: for each name until when its holder
// believes in the lease, by CLOCK_MONOTONIC in ns, 0 where it has left. Who enters
// while that is to come has found two holders.
type board struct{ until []int64 }

func openBoard(file string, names int) (*board, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := 8 * names
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &board{unsafe.Slice((*int64)(unsafe.Pointer(&memory[0])), names)}, nil
}

// enter reports whether nobody was inside.
func (b *board) enter(name int, until int64) bool {
	return atomic.SwapInt64(&b.until[name], until) < history.Now()
}

func (b *board) leave(name int, until int64) {
	atomic.CompareAndSwapInt64(&b.until[name], until, 0)
}
