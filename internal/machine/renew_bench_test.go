package machine

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Renewing all of 10,000 names is one input, for which the mutex is held.
func BenchmarkRenewAll(b *testing.B) {
	c, h := newTestClient(Settings{})
	now := clock.Instant(time.Hour)
	held := make([]*Tenure, 10_000)
	for i := range held {
		name := fmt.Sprint("name-", i)
		k, err := keyspace.KeysOf(c.Prefix, name)
		if err != nil {
			b.Fatal(err)
		}
		local := c.newName(name, name, k, c.defaultKind)
		local.tenure = c.newTenure(local)
		local.tenure.phase, local.tenure.acknowledged, local.tenure.fenceRenewedAt = holding, true, now
		held[i] = local.tenure
	}
	for b.Loop() {
		b.StopTimer()
		h.sent = h.sent[:0]
		for _, t := range held {
			t.renewal = nil
			t.Prolong(now, 15*time.Second, c.Jitter)
		}
		b.StartTimer()
		c.renewAll(now)
	}
}
