//go:build unix

package metrics_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/prometheus/client_golang/prometheus"
)

// process is one that locks on a real server and is scraped.
type process struct {
	t        *testing.T
	client   *holdfast.Client
	registry *prometheus.Registry
	close    func()
}

func start(t *testing.T, server *redistest.Server, ttl time.Duration) *process {
	t.Helper()
	store, err := rueidisstore.Open(server.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics := holdfastprom.New(nil)
	client := holdfast.New(metrics.Store(store, ""), &holdfast.Options{TTL: ttl, OnEvent: metrics.OnEvent})
	metrics.Watch(client)
	p := &process{t: t, client: client, registry: prometheus.NewPedanticRegistry(), close: func() {
		client.Close()
		store.Close()
	}}
	p.registry.MustRegister(metrics, holdfastprom.NewInventory(admin.Of(client), &holdfastprom.InventoryOptions{Every: time.Second, Wait: 100 * time.Millisecond, Timeout: 5 * time.Second}))
	return p
}

// value is the sum of a metric's series whose labels have these values.
func (p *process) value(name string, values ...string) (sum float64) {
	p.t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			has := ""
			for _, label := range m.Label {
				has += "," + label.GetValue() + ","
			}
			fits := true
			for _, value := range values {
				fits = fits && strings.Contains(has, ","+value+",")
			}
			if fits {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// becomes waits until a metric is as it should be.
func (p *process) becomes(what string, is func(v float64) bool, name string, values ...string) {
	p.t.Helper()
	var v float64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if v = p.value(name, values...); is(v) {
			return
		}
	}
	p.t.Fatalf("%s: %s%v is %v", what, name, values, v)
}

func (p *process) lock(name string) *holdfast.Lease {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		lease, err := p.client.Mutex(name).Lock(ctx)
		if err == nil {
			return lease
		}
		if ctx.Err() != nil {
			p.t.Fatal(err)
		}
	}
}

func some(v float64) bool { return v > 0 }
func none(v float64) bool { return v == 0 }

func equals(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

// A night with a real server: it freezes for longer than the ttl, loses its data, and is
// restarted. Each is seen where the runbooks say, scrapes never hang, the figures pass
// promtool's eye, and nothing is left running.
func TestWhatIsSeenOfARealServer(t *testing.T) {
	const ttl = 6 * time.Second // of 3 s and less a holder renews instead of listening
	server := redistest.Start(t, redistest.Options{})
	goroutines := runtime.NumGoroutine()
	p := start(t, server, ttl)

	lease := p.lock("n")
	p.becomes("it renews", some, "holdfast_renewals_total")
	p.becomes("it is held", equals(1), "holdfast_held")
	p.becomes("and found in Redis", equals(1), "holdfast_inventory_held", "mutex")
	lint(t, p.registry)

	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	p.becomes("renewals fail", some, "holdfast_renewal_failures_total")
	p.becomes("the early warning comes first", func(least float64) bool { return least > 0 && least < 0.5 }, "holdfast_renewal_slack_min_ratio")
	<-lease.Done()
	p.becomes("the loss is told", equals(1), "holdfast_lost_total", "expired")
	p.becomes("nothing is held", none, "holdfast_held")
	p.becomes("the store is blamed", some, "holdfast_store_errors_total", "timeout")
	p.becomes("the inventory fails", none, "holdfast_inventory_up")
	began := time.Now()
	p.value("holdfast_held")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a scrape of a frozen server took %v, want 100 ms or so", took)
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
	p.becomes("the inventory is well again", equals(1), "holdfast_inventory_up")

	second := p.lock("n")
	server.MustDo(t, "FLUSHALL")
	<-second.Done()
	p.becomes("the loss has its cause", equals(1), "holdfast_lost_total", "gone")

	third := p.lock("n")
	p.becomes("the subscription that a holder has", some, "holdfast_subscriptions_confirmed_total")
	confirmed := p.value("holdfast_subscriptions_confirmed_total")
	server.Kill()
	p.becomes("it breaks", some, "holdfast_subscriptions_broken_total")
	if err := server.Restart(false); err != nil {
		t.Fatal(err)
	}
	p.becomes("it is confirmed again", func(v float64) bool { return v > confirmed }, "holdfast_subscriptions_confirmed_total")
	p.becomes("errors of the network", some, "holdfast_store_errors_total", "network")
	_ = third.Release() // it may have been lost meanwhile
	p.lock("n")
	lint(t, p.registry)

	p.close()
	p.becomes("all is over", none, "holdfast_held")
	for end := time.Now().Add(patience); runtime.NumGoroutine() > goroutines; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// Two processes on a real server: the waiter is seen waiting on both sides, and is
// pushed, not polled.
func TestAHandOverOnARealServer(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a, b := start(t, server, 15*time.Second), start(t, server, 15*time.Second)
	defer a.close()
	defer b.close()
	const rounds = 5
	for i := range rounds {
		name := fmt.Sprint("n", i)
		first := a.lock(name)
		a.becomes("it listens", some, "holdfast_subscriptions_confirmed_total") // or a recall would be found by a renewal
		came := make(chan *holdfast.Lease)
		go func() {
			lease, err := b.client.Mutex(name).Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			came <- lease
		}()
		b.becomes("it waits", equals(1), "holdfast_waiting")
		a.becomes("its wait is in Redis", some, "holdfast_inventory_waiting", "mutex")
		a.becomes("it is recalled", equals(float64(i+1)), "holdfast_recalled_total") // the push may be slower than the release
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		if err := (<-came).Release(); err != nil {
			t.Fatal(err)
		}
	}
	b.becomes("each was pushed", equals(rounds), "holdfast_granted_total", "push")
	b.becomes("none was polled", none, "holdfast_granted_total", "poll")
}
