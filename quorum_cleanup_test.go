package holdfast

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/tally"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A node that granted is sent unlock, also when a later request to it was not sent; one to
// which lock was not sent is not.
func TestQuorumUndoesWhatARaiseLeft(t *testing.T) {
	c := newCore((&Options{}).withDefaults(), nil)
	defer c.cancel()
	q := &quorum{p: c.process, need: 2}
	for i := range 3 {
		q.nodes = append(q.nodes, &node{number: i})
	}
	c.quorum = q
	k, err := keysOf("", "x")
	if err != nil {
		t.Fatal(err)
	}
	n := &localName{p: c.process, name: "x", keys: k}
	b := &ballot{q: q, local: n, t: c.newTenure(n), votes: tally.Votes{Of: []tally.Vote{
		{Stand: tally.Failed, Token: 1000, Err: errSilent},
		{Stand: tally.Failed, Err: errSilent},
		{Stand: tally.Against},
	}}}
	b.cleanUp(c.clock.Now())
	for _, r := range c.outbox {
		if r.node.number != 0 {
			t.Errorf("node %d was sent unlock, but not lock", r.node.number+1)
		}
	}
	if len(c.outbox) != 1 {
		t.Errorf("%d requests, want the unlock of the node that granted", len(c.outbox))
	}
}

// A node that is silent may not have been asked: it is sent unlock when it turns out that it
// was, and then until a ttl has passed.
func TestQuorumOwesASilentNodeOnlyWhatItWasAsked(t *testing.T) {
	c := newCore((&Options{}).withDefaults(), nil)
	defer c.cancel()
	q := &quorum{p: c.process, need: 2}
	for i := range 3 {
		q.nodes = append(q.nodes, &node{number: i})
	}
	c.quorum = q
	silent := q.nodes[2]
	silent.silent.Store(true)
	k, err := keysOf("", "x")
	if err != nil {
		t.Fatal(err)
	}
	for err, want := range map[error]bool{errSilent: false, wire.ErrNoAnswer: true} {
		c.outbox, c.cleanups = nil, map[*cleanup]struct{}{}
		n := &localName{p: c.process, name: "x", keys: k}
		b := &ballot{q: q, local: n, t: c.newTenure(n), over: true, votes: tally.Votes{Of: []tally.Vote{{Stand: tally.Against}, {Stand: tally.Against}, {Stand: tally.Pending}}}}
		now := c.clock.Now()
		b.cleanUp(now)
		if len(c.outbox) > 0 {
			t.Errorf("%d requests to a node of which nobody knows whether it was asked, want none yet", len(c.outbox))
		}
		b.answered(silent, wire.Answer{}, err, now)
		if owes := len(c.outbox) == 1; owes != want {
			t.Errorf("behind %v: sent unlock %v, want %v", err, owes, want)
		}
		for e := range c.cleanups {
			if e.until.Sub(now) < time.Second {
				t.Errorf("behind %v: sent unlock for %v, want a ttl", err, e.until.Sub(now))
			}
		}
	}
}

// An unlock that was to travel with others when Close began may be the last of a lease that was
// released: it is sent.
func TestQuorumCloseSendsDelayedUnlocks(t *testing.T) {
	c := newCore((&Options{}).withDefaults(), nil)
	defer c.cancel()
	n := &node{inflight: 2}
	c.quorum = &quorum{p: c.process, need: 1, nodes: []*node{n}}
	c.inflight = 2
	s := &server{node: n}
	c.nodes = []*server{s}
	s.batcher.requests = []*request{
		{call: driver.Call{Script: script.QuorumLock, Args: []string{"one"}}, node: n},
		{call: driver.Call{Script: script.QuorumUnlock, Args: []string{"two"}}, node: n},
	}
	c.dropDelayed()
	if c.inflight != 0 || n.inflight != 0 || len(c.lateCleanups) != 1 || c.lateCleanups[0].call.Args[0] != "two" || c.lateCleanups[0].node != n {
		t.Errorf("late: %v, under way %d and %d; want the unlock to be sent, and none under way", c.lateCleanups, c.inflight, n.inflight)
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

// Close sends a silent node the unlocks of the locks that the node may yet hear of, also if the
// others have nothing to undo.
func TestQuorumCloseSendsToTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore((&Options{}).withDefaults(), nil)
		q := &quorum{p: c.process, need: 2}
		for i := range 3 {
			q.nodes = append(q.nodes, &node{number: i})
		}
		c.quorum = q
		for _, n := range q.nodes {
			c.nodes = append(c.nodes, &server{node: n})
		}
		silent, store := q.nodes[2], &dials{}
		silent.silent.Store(true)
		c.nodes[2].store = store
		ctx, cancel := context.WithCancel(t.Context())
		err := c.runQuorumCleanups(ctx, []cleanupCall{{driver.Call{Script: script.QuorumUnlock}, silent}})
		cancel() // as Close does
		c.cancel()
		synctest.Wait()
		if err != nil || store.sent != 1 {
			t.Errorf("got %v, and %d unlocks sent; want one", err, store.sent)
		}
	})
}
