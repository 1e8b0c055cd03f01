//go:build unix

package process_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A process that was frozen beyond its ttl writes nothing when it wakes, though
// its write is the first thing it does.
func TestEvalProcessFrozen(t *testing.T) {
	const name, ttl = "eval-frozen", 2 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	calls := contend(t, server, name, processes)
	calls[0].held()
	eval := func(c call, value string) reply {
		return c.p.order(order{Do: "eval", Lease: c.number, Name: "x", Value: value}).wait()
	}
	if r := eval(calls[0], "A"); r.Err != "" {
		t.Fatalf("the holder writes: got %s, want nil", r.Err)
	}
	processes[0].freeze()
	calls[1].held()
	if r := eval(calls[1], "B"); r.Err != "" {
		t.Errorf("the next holder writes: got %s, want nil", r.Err)
	}
	late := processes[0].order(order{Do: "eval", Lease: calls[0].number, Name: "x", Value: "late"})
	processes[0].thaw()
	if r := late.wait(); !r.Lost {
		t.Errorf("awake, the old holder writes: got %q, want ErrLost", r.Err)
	}
	if got := server.MustDo(t, "GET", "x"); got != "B" {
		t.Errorf("x: got %s, want B", got)
	}
	calls[1].release()
}
