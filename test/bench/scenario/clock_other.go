//go:build !linux

package scenario

import "time"

// machineClock is nanoseconds of a clock that is the same in all processes of
// this machine: here the wall clock, which may step.
func machineClock() int64 { return time.Now().UnixNano() }
