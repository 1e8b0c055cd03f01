//go:build !linux

package limit

import (
	"net"
	"time"
)

// giveUp is for Linux.
func giveUp(net.Conn, time.Duration) {}
