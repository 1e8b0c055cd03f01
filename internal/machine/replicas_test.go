package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// With WaitReplicas a lock that was sent twice may be answered after the renewal that confirmed
// the grant. No replica has acknowledged what it wrote: neither its ttl nor its tokens count.
func TestRepeatedGrantIsNotConfirmed(t *testing.T) {
	c, h := newTestClient(Settings{WaitReplicas: 1})
	w := &LocalWaiter{}
	if _, err := c.Enter("n", nil, w, 0); err != nil {
		t.Fatal(err)
	}
	at := func(ms int) clock.Instant { return clock.Instant(0).Add(time.Duration(ms) * time.Millisecond) }
	c.HandleAnswer(h.sent[0], wire.Answer{Word: wire.Granted, Base: 1000, Size: 64}, nil, at(10))
	h.sent[1].Acked = 1
	c.HandleAnswer(h.sent[1], wire.Answer{Word: wire.Renewed, Base: 2000, Size: 64}, nil, at(20))
	turn := h.outcomes[w].Turn
	if turn == nil || turn.Token != 2000 {
		t.Fatalf("got turn %+v, want one with token 2000", turn)
	}
	ends := turn.Tenure.Ends()
	c.granted(turn.Tenure, grant{base: 3000, size: 64, start: at(1000), ttl: c.TTL}, at(1010))
	if got := turn.Tenure.Ends(); got != ends {
		t.Errorf("the repeated grant moves the deadline by %v", got.Sub(ends))
	}
	for {
		token, ok := turn.Tenure.tokens.Take()
		if !ok {
			break
		}
		if token >= 3000 {
			t.Fatalf("token %d is of the repeated grant", token)
		}
	}
}
