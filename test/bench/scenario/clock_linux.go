package scenario

import "golang.org/x/sys/unix"

// machineClock is nanoseconds of a clock that is the same in all processes of
// this machine and never steps.
func machineClock() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // which every Linux has
	return now.Nano()
}
