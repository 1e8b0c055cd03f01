package main

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// onOneProcessor makes what f starts use the last processor of the machine alone.
func onOneProcessor(f func() error) error {
	runtime.LockOSThread() // what a thread starts has the processors of the thread
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for i := range len(all) * 64 {
		if all.IsSet(i) {
			one.Zero()
			one.Set(i)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	return errors.Join(f(), unix.SchedSetaffinity(0, &all))
}
