//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

// ErrNotAllowed is why there are no namespaces, or why a fault can't be made.
var ErrNotAllowed = errors.New("not allowed here")

// Allowed says whether this process can make networks, by making one, once. The
// error is ErrNotAllowed with the reason.
var Allowed = sync.OnceValue(func() error {
	if err := try(); err != nil {
		return fmt.Errorf("network namespaces: %w: %w", ErrNotAllowed, err)
	}
	return nil
})

// try has a client in a namespace connect, and cuts it off.
func try() error {
	if os.Geteuid() != 0 {
		return errors.New("only root may")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("no command ip (Debian: apt-get install iproute2)")
	}
	n, err := Open(1)
	if err != nil {
		return err
	}
	defer n.Close()
	listener, err := net.Listen("tcp", net.JoinHostPort(n.Server(0).String(), "0"))
	if err != nil {
		return err
	}
	defer listener.Close()
	l, err := n.Line()
	if err != nil {
		return err
	}
	if err := l.dial(listener.Addr().String(), 10*time.Second); err != nil {
		return err
	}
	if err := l.Refuse(0); err != nil {
		return err
	}
	if l.dial(listener.Addr().String(), 10*time.Second) == nil {
		return errors.New("a rule of the router has no effect")
	}
	return nil
}

// What the kernel must have for a fault, asked once. The errors are ErrNotAllowed
// with the reason.
var (
	Narrows = sync.OnceValue(func() error {
		return has("a narrow line (tc tbf)", "qdisc add dev lo root tbf rate 1mbit burst 3000 latency 1s")
	})
	Delays = sync.OnceValue(func() error { return has("latency (tc netem)", "qdisc add dev lo root netem delay 1ms") })
	Loses  = sync.OnceValue(func() error { return has("loss (tc bpf)", losing("lo", 1)...) })
)

func has(what string, lines ...string) error {
	if err := Allowed(); err != nil {
		return err
	}
	s, err := newSpace()
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := exec.LookPath("tc"); err != nil {
		return fmt.Errorf("%s: %w: no command tc (Debian: apt-get install iproute2)", what, ErrNotAllowed)
	}
	if s.tc(lines...) != nil {
		return fmt.Errorf("%s: %w: this kernel has none", what, ErrNotAllowed)
	}
	return nil
}
