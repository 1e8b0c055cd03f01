package holdfast

import "testing"

// A node that granted is sent unlock, also when a later request to it was not sent; one to
// which lock was not sent is not.
func TestQuorumUndoesWhatARaiseLeft(t *testing.T) {
	c := newCore((&Options{}).withDefaults(), nil)
	defer c.cancel()
	q := &quorum{c: c, need: 2}
	for i := range 3 {
		q.nodes = append(q.nodes, &node{number: i})
	}
	c.quorum = q
	k, err := keysOf("", "x")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{c: c, name: "x", keys: k}
	b := &ballot{q: q, line: l, t: c.newTenure(l), votes: []vote{
		{stand: failed, token: 1000, err: errSilent},
		{stand: failed, err: errSilent},
		{stand: against},
	}}
	b.undo(c.clock.now())
	for _, r := range c.outbox {
		if r.node.number != 0 {
			t.Errorf("node %d was sent unlock, but not lock", r.node.number+1)
		}
	}
	if len(c.outbox) != 1 {
		t.Errorf("%d requests, want the unlock of the node that granted", len(c.outbox))
	}
}
