package clock

import (
	"syscall"
	"time"
	"unsafe"
)

const (
	clockRealtime = 0 // CLOCK_REALTIME, linux/time.h
	clockBoottime = 7 // CLOCK_BOOTTIME: monotonic, and runs in suspend
)

func suspendAware() func() Instant {
	if InBubble() {
		began := time.Now().Add(-first)
		return func() Instant { return Instant(time.Since(began)) }
	}
	return func() Instant { return systemClock(clockBoottime) }
}

// InBubble reports whether Go's time is not the machine's: the caller runs in a
// testing/synctest bubble, whose clock begins in the year 2000. A Client there must
// live by that clock, as its timers do and as the server does, or it would never see
// that its lease has ended. Both clocks of the comparison are the system's wall clock,
// so they agree outside a bubble, except when somebody sets that clock between two
// readings: nobody does that three times in a row.
func InBubble() bool {
	const apart = Instant(time.Hour)
	for range 3 {
		before := systemClock(clockRealtime)
		shown := Instant(time.Now().UnixNano())
		after := systemClock(clockRealtime)
		if before-apart <= shown && shown <= after+apart {
			return false
		}
	}
	return true
}

// systemClock reads a clock past Go's own time.
func systemClock(id uintptr) Instant {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		panic("holdfast: clock_gettime: " + errno.Error())
	}
	return Instant(t.Nano())
}
