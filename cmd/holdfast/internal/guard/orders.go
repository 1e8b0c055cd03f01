//go:build unix

package guard

import (
	"bytes"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Verbs of orders.
const (
	orderHold   = "hold"
	orderEnd    = "end"
	orderSignal = "signal"
)

// order is one line that a guard gets.
type order struct {
	verb   string
	leash  Leash // of hold; only kill of end
	signal syscall.Signal
}

func (o order) String() string {
	return fmt.Sprintf("%s %d %d %d\n", o.verb, o.leash.term, o.leash.Kill, int(o.signal))
}

// parseOrder is the inverse of String.
func parseOrder(line string) (o order, err error) {
	_, err = fmt.Sscan(line, &o.verb, &o.leash.term, &o.leash.Kill, (*int)(&o.signal))
	return o, err
}

// inbox is the end of a pipe from which a guard takes its orders.
type inbox struct {
	pipe  int           // its file descriptor
	come  chan struct{} // gets a value when there is something to take
	begun []byte        // an order whose end has not come
	ended bool          // no more orders will come
}

func newInbox(pipe int) (*inbox, error) {
	if err := unix.SetNonblock(pipe, true); err != nil {
		return nil, err
	}
	come := make(chan struct{})
	go func() {
		for {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(pipe), Events: unix.POLLIN}}, -1) // an error: take says more
			come <- struct{}{}
		}
	}()
	return &inbox{pipe: pipe, come: come}, nil
}

// take returns the orders that have come. It does not wait. There are no more when the pipe has
// ended, or said what no `holdfast run` says.
func (in *inbox) take() (orders []order) {
	var read [4096]byte
	for !in.ended {
		n, err := syscall.Read(in.pipe, read[:])
		switch {
		case err == syscall.EAGAIN:
			return orders
		case err == syscall.EINTR:
		case err != nil || n == 0:
			in.ended = true
		default:
			in.begun = append(in.begun, read[:n]...)
		}
		for {
			line, rest, whole := bytes.Cut(in.begun, []byte("\n"))
			if !whole {
				break
			}
			o, err := parseOrder(string(line))
			if err != nil {
				in.ended = true
				break
			}
			in.begun, orders = rest, append(orders, o)
		}
	}
	return orders
}
