package limit

import (
	"net"
	"syscall"
	"time"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT, which package syscall has not for all machines

// giveUp breaks a connection when what was sent is not confirmed for so long.
func giveUp(c net.Conn, after time.Duration) {
	tcp, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // where it can't, the system gives up later
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(after.Milliseconds()))
	})
}
