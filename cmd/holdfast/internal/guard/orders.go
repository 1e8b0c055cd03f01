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
	return fmt.Sprintf("%s %d %d %d\n", o.verb, o.leash.term, o.leash.Kill, int(o.signal))
}

// parseOrder is the inverse of String.
func parseOrder(line string) (o order, err error) {
	_, err = fmt.Sscan(line, &o.verb, &o.leash.term, &o.leash.Kill, (*int)(&o.signal))
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
