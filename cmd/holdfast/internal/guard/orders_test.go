//go:build unix

package guard

import (
	"strings"
	"syscall"
	"testing"
)

func TestOrders(t *testing.T) {
	want := []order{
		{verb: orderHold, leash: Leash{term: 123456789012345678, Kill: 123456789012345679}},
		{verb: orderSignal, signal: syscall.SIGUSR1},
		{verb: orderEnd, leash: Leash{Kill: -1}},
	}
	var pipe strings.Builder
	for _, o := range want {
		pipe.WriteString(o.String())
	}
	// What makes no sense ends the orders, as the end of the pipe does: the
	// command does not go on without orders.
	pipe.WriteString("hold on\n" + want[0].String())
	var got []order
	for o := range readOrders(strings.NewReader(pipe.String())) {
		got = append(got, o)
	}
	if len(got) != len(want) {
		t.Fatalf("read %d orders, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("order %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// A command that is asked to stop stops: a renewal that comes late gives it no
// more time.
func TestGuardStopsForGood(t *testing.T) {
	asked := Leash{term: 100, Kill: 200, Last: 250}
	g := &process{leash: asked, asked: true}
	g.obey(order{verb: orderHold, leash: Leash{term: 900, Kill: 1000}}, true)
	if g.leash != asked {
		t.Errorf("got %v, want %v", g.leash, asked)
	}
	g.obey(order{verb: orderEnd, leash: Leash{Kill: 150}}, true)
	if got, want := g.leash.Kill, Instant(150); got != want {
		t.Errorf("kill at %v, want %v", got, want)
	}
}
