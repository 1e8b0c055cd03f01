//go:build unix

package guard

import (
	"bufio"
	"fmt"
	"io"
	"syscall"
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
	switch o.verb {
	case orderHold:
		return fmt.Sprintf("hold %d %d\n", o.leash.term, o.leash.Kill)
	case orderEnd:
		return fmt.Sprintf("end %d\n", o.leash.Kill)
	default:
		return fmt.Sprintf("signal %d\n", int(o.signal))
	}
}

// parseOrder is the inverse of String.
func parseOrder(line string) (o order, err error) {
	if _, err = fmt.Sscan(line, &o.verb); err != nil {
		return o, err
	}
	switch rest := line[len(o.verb):]; o.verb {
	case orderHold:
		_, err = fmt.Sscan(rest, &o.leash.term, &o.leash.Kill)
	case orderEnd:
		_, err = fmt.Sscan(rest, &o.leash.Kill)
	case orderSignal:
		_, err = fmt.Sscan(rest, (*int)(&o.signal))
	default:
		err = fmt.Errorf("unknown order %q", o.verb)
	}
	return o, err
}

// readOrders reads until the pipe ends, or says what no `holdfast run` says.
// Then it closes the channel.
func readOrders(pipe io.Reader) <-chan order {
	orders := make(chan order)
	go func() {
		defer close(orders)
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			o, err := parseOrder(lines.Text())
			if err != nil {
				return
			}
			orders <- o
		}
	}()
	return orders
}
