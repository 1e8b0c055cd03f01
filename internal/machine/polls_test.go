package machine

import (
	"math"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// What ten thousand waiting Clients ask of Redis grows with the logarithm of their
// number: 20/s x ln(1 + n x 50 ms / PTTL), and a little for the early polls near the
// front, see docs/protocol.md.
func TestManyWaitersAskSeldom(t *testing.T) {
	const n = 10_000
	for _, way := range []struct {
		ttl    time.Duration
		shared bool
		most   float64 // scripts per second
	}{
		{time.Second, false, 130},
		{2 * time.Second, false, 130},
		{5 * time.Second, false, 100},
		{15 * time.Second, false, 100},
		{time.Hour, false, 100},
		{15 * time.Second, true, 130},
	} {
		c, _ := newTestClient(Settings{TTL: way.ttl})
		local := &Name{client: c, Kind: c.defaultKind, sub: &Subscriber{client: c, Confirmed: true}}
		holder := keyspace.NewID(c.idPrefix, c.Random, local.Kind.idSuffix)
		if way.shared {
			local.Kind = SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Reader, 1, WholeCapacity)
		}
		var rate float64
		for k := range int64(n) {
			var sleeps float64
			const steps = 16 // of what is left: between two renewals, which are a third of the ttl apart
			for i := range steps {
				left := way.ttl - way.ttl/3*time.Duration(i)/steps
				pollIn := 2*time.Second - 667*time.Millisecond*time.Duration(i)/steps // of a head that asks as often
				pollIn += time.Duration(k) * protocol.PollPerWaiter
				if k == 0 {
					pollIn = 667 * time.Millisecond
				}
				if !way.shared {
					pollIn = 0 // it has not handed over
				}
				sleeps += local.nextPoll(wire.Answer{Word: wire.Queued, Listening: true, Holder: holder, PTTL: left, PollIn: pollIn, Position: k}, 1).Seconds()
			}
			rate += steps / sleeps
		}
		formula := 20 * math.Log(1+n*0.05/min(15, way.ttl.Seconds()*5/6))
		t.Logf("ttl %v, shared %v: %.1f scripts/s; the formula says %.1f", way.ttl, way.shared, rate, formula)
		if rate > way.most {
			t.Errorf("%d waiters with a ttl of %v, shared %v, ask %.1f times a second; want %v at most", n, way.ttl, way.shared, rate, way.most)
		}
	}
}

// Where no push comes they poll, and that is bounded, too.
func TestManyWaitersPollSeldom(t *testing.T) {
	c, _ := newTestClient(Settings{})
	n := &Name{client: c, sub: &Subscriber{client: c}}
	var rate float64
	for k := range int64(10_000) {
		if d, most := n.pollInterval(k), time.Second+time.Duration(k)*250*time.Millisecond; d > most {
			t.Fatalf("place %d polls after %v; want %v at most", k, d, most)
		}
		var sleeps time.Duration
		const steps = 8
		for range steps {
			sleeps += n.pollInterval(k)
		}
		rate += steps / sleeps.Seconds()
	}
	if rate > 130 {
		t.Errorf("they poll %.1f times a second; want 130 at most", rate)
	}
}
