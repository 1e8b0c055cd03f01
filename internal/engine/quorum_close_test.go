package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// threeNodes is a quorum that nothing performs the requests of. An id is being undone on all
// nodes.
func threeNodes(t *testing.T) (c *Engine, q *quorum) {
	t.Helper()
	c = newEngine(settings(), nil, true)
	q = newQuorum(c, "orders/1/3-5f3a9c0d1e", make([]driver.Store, 3))
	k, err := keyspace.KeysOf("", "x")
	if err != nil {
		t.Fatal(err)
	}
	q.ballot.Ask(&ballot.Request{Op: ballot.Undo, ID: "a", Place: ballot.NewPlace("x", k, time.Minute), Sent: c.clock.Now(), For: &machine.Request{OnAnswer: func(*machine.Request, wire.Answer, error, clock.Instant) {}}})
	if len(c.outbox) != 3 {
		t.Fatalf("%d requests, want one for each node", len(c.outbox))
	}
	return c, q
}

// An unlock that was to travel with others when Close began may be the last of a lease that was
// released: it is sent.
func TestQuorumCloseSendsDelayedUnlocks(t *testing.T) {
	c, q := threeNodes(t)
	defer c.cancel()
	c.batchers[1].requests, c.inflight = []*machine.Request{c.outbox[1].Request}, 1
	c.dropDelayed()
	owed := q.ballot.Owed()
	if c.inflight != 0 || len(owed) != 1 || owed[0].Node != 1 || owed[0].Args[0] != "a" {
		t.Errorf("owed: %v, under way %d; want the unlock to be sent, and none under way", owed, c.inflight)
	}
}

// dials is a Store that sends nothing before it is connected, after 10 ms.
type dials struct {
	driver.Store
	sent int
}

func (s *dials) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	select {
	case <-time.After(10 * time.Millisecond):
		s.sent += len(calls)
	case <-ctx.Done():
		for i := range results {
			results[i].Err = ctx.Err()
		}
	}
	return results
}

// Close sends a silent node the unlocks that it may yet hear of, also if the others have nothing
// to undo.
func TestQuorumCloseSendsToTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, q := threeNodes(t)
		for i, err := range []error{nil, nil, errors.New("connection refused")} {
			q.ballot.Answered(c.outbox[i].Part, wire.Answer{Word: wire.Released}, err, c.clock.Now())
		}
		store := &dials{}
		q.nodes[2].store = store
		q.close(c.clock.Now())
		ctx, cancel := context.WithCancel(t.Context())
		err := q.runCleanups(ctx, nil)
		cancel() // as Close does
		c.cancel()
		synctest.Wait()
		if err != nil || store.sent != 1 {
			t.Errorf("got %v, and %d unlocks sent; want one", err, store.sent)
		}
	})
}
