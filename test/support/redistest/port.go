package redistest

import (
	"fmt"
	"net"
)

// busOffset is how far above its port a cluster node listens for its peers.
const busOffset = 10000

// freePort finds a port of the loopback interface that nobody listens on, with
// a free port for the cluster bus above it. It may be taken a moment later, so
// whoever uses it must check with whom it talks.
func freePort() (int, error) {
	const tries = 100
	var err error
	for range tries {
		var port int
		if port, err = listenable(0); err != nil {
			continue
		}
		if port+busOffset > 65535 {
			continue
		}
		if _, err = listenable(port + busOffset); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("redistest: no free port on loopback: %w", err)
}

// listenable listens for a moment on a port, 0 for any, and says which it was.
func listenable(port int) (int, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return 0, err
	}
	port = l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
