//go:build unix

package guard

import (
	"os"
	"syscall"
	"testing"
)

// testInbox returns an inbox and the other end of its pipe.
func testInbox(t *testing.T) (*inbox, *os.File) {
	t.Helper()
	out, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	t.Cleanup(func() { pipe.Close() })
	in, err := newInbox(int(out.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return in, pipe
}

func send(t *testing.T, pipe *os.File, orders ...order) {
	t.Helper()
	for _, o := range orders {
		if _, err := pipe.WriteString(o.String()); err != nil {
			t.Fatal(err)
		}
	}
}

// The time of a command that has not started is that of the newest order: the guard may come to
// the first one when that is over.
func TestGuardStartsByTheNewestOrder(t *testing.T) {
	old, renewed := order{verb: orderHold, leash: Leash{term: 100, Kill: 200}}, order{verb: orderHold, leash: Leash{term: 500, Kill: 600}}
	g := &process{}
	if g.mayStart([]order{old}, 100) {
		t.Error("it may start with no time left")
	}
	if !g.mayStart([]order{old, {verb: orderSignal}, renewed}, 499) || g.leash != renewed.leash {
		t.Errorf("it may not start by %v, want by %v", g.leash, renewed.leash)
	}
}

// A guard that was starved finds the orders of that time in the pipe. They count before it stops
// the command.
func TestGuardThatIsLateTakesItsOrders(t *testing.T) {
	in, pipe := testInbox(t)
	g := &process{orders: in, pid: 1 << 30} // there is no such process group
	for i := range Instant(100) {
		send(t, pipe, order{verb: orderHold, leash: Leash{term: 100 * i, Kill: 100*i + 50}})
	}
	if g.poll(9899); g.asked || g.killing {
		t.Errorf("asked to stop: %v, killed: %v; want neither", g.asked, g.killing)
	}
	if g.poll(9900); !g.asked {
		t.Error("not asked to stop when the time was over")
	}
	pipe.Close()
	if g.poll(9901); !g.killing {
		t.Error("not killed when the orders ended")
	}
}

func TestOrders(t *testing.T) {
	want := []order{
		{verb: orderHold, leash: Leash{term: 123456789012345678, Kill: 123456789012345679}},
		{verb: orderSignal, signal: syscall.SIGUSR1},
		{verb: orderEnd, leash: Leash{Kill: -1}},
	}
	in, pipe := testInbox(t)
	send(t, pipe, want...)
	// What makes no sense ends the orders, as the end of the pipe does: the
	// command does not go on without orders.
	if _, err := pipe.WriteString("hold on\n"); err != nil {
		t.Fatal(err)
	}
	send(t, pipe, want[0])
	<-in.come
	got := in.take()
	if !in.ended {
		t.Error("the orders go on, want them to end")
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
	g.obey(order{verb: orderHold, leash: Leash{term: 900, Kill: 1000}})
	if g.leash != asked {
		t.Errorf("got %v, want %v", g.leash, asked)
	}
	g.obey(order{verb: orderEnd, leash: Leash{Kill: 150}})
	if got, want := g.leash.Kill, Instant(150); got != want {
		t.Errorf("kill at %v, want %v", got, want)
	}
}
