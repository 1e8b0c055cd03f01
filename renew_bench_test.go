package holdfast

import (
	"fmt"
	"testing"
	"time"
)

// Renewing all of 10,000 names is one hold of the Client's mutex. What is sent is handed
// out in parts, as pipelines end.
func BenchmarkRenewAll(b *testing.B) {
	c := newCore((&Options{TTL: 15 * time.Second}).withDefaults(), nil, true)
	c.process.sub = &subscriber{p: c.process, channel: "holdfast/push:none"}
	c.pipelines = pipelines // so that nothing is sent
	held := make([]*tenure, 10_000)
	for i := range held {
		name := fmt.Sprint("name-", i)
		k, err := keysOf(c.options.Prefix, name)
		if err != nil {
			b.Fatal(err)
		}
		local := c.process.newName(name, name, k, c.process.plain)
		local.tenure = c.process.newTenure(local)
		local.tenure.phase, local.tenure.confirmed, local.tenure.fenceRenewedAt = holding, true, c.clock.Now()
		held[i] = local.tenure
	}
	least := time.Hour
	for b.Loop() {
		b.StopTimer()
		now := c.clock.Exact()
		c.renewals = nil
		for _, t := range held {
			t.renewal = nil
			t.prolong(now, 15*time.Second, c.process.jitter)
		}
		b.StartTimer()
		began := time.Now()
		c.mu.Lock()
		c.process.renewAll(now)
		c.unlock()
		least = min(least, time.Since(began))
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
	if n := len(c.renewals); n != len(held) {
		b.Errorf("%d renewals wait, want %d", n, len(held))
	}
}
