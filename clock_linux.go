package holdfast

import (
	"syscall"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME, linux/time.h: monotonic, and runs in suspend

func suspendAwareClock() func() instant {
	return func() instant {
		var t syscall.Timespec
		_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&t)), 0)
		if errno != 0 {
			panic("holdfast: clock_gettime(CLOCK_BOOTTIME): " + errno.Error())
		}
		return instant(t.Nano())
	}
}
