package holdfastprom_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

const patience = 30 * time.Second

// scrape is what a registry with only these metrics gives: values by name and labels, as
// in holdfast_lost_total{gone,all}; of a histogram how often it was told something.
func scrape(t testing.TB, collectors ...prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, label := range m.Label {
				labels = append(labels, label.GetValue())
			}
			key := family.GetName()
			if len(labels) > 0 {
				key += "{" + strings.Join(labels, ",") + "}"
			}
			values[key] = valueOf(m)
		}
	}
	return values
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return float64(m.Histogram.GetSampleCount())
}

// shows waits until a scrape gives these values: events are told beside the locks.
func shows(t testing.TB, m prometheus.Collector, want map[string]float64) {
	t.Helper()
	var wrong []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		wrong = nil
		got := scrape(t, m)
		for key, value := range want {
			if got, known := got[key]; !known || got != value {
				wrong = append(wrong, fmt.Sprintf("%s: got %v (there: %v), want %v", key, got, known, value))
			}
		}
		if wrong == nil {
			return
		}
	}
	t.Fatal(strings.Join(wrong, "\n"))
}

func open(t testing.TB, store driver.Store, m *holdfastprom.Metrics, ttl time.Duration) *holdfast.Client {
	t.Helper()
	client := holdfast.New(m.Store(store, ""), &holdfast.Options{TTL: ttl, OnEvent: m.OnEvent})
	t.Cleanup(func() { client.Close() })
	m.Watch(client)
	return client
}

func embed(t testing.TB) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func lock(t testing.TB, client interface {
	Mutex(name string) *holdfast.Mutex
}, name string) *holdfast.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := client.Mutex(name).Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// byKind is the class of a name like kind:number.
func byKind(name string) string {
	kind, _, _ := strings.Cut(name, ":")
	return kind
}

// A lock of two processes is counted on both sides, by class: what is
// held and waited for while it is so, how each came to its lease, and the end.
func TestCountsAHandOver(t *testing.T) {
	store := embed(t)
	ma, mb := holdfastprom.New(&holdfastprom.Options{Class: byKind}), holdfastprom.New(&holdfastprom.Options{Class: byKind})
	a, b := open(t, store, ma, time.Minute), open(t, store, mb, time.Minute)

	first := lock(t, a, "invoice:1")
	shows(t, ma, map[string]float64{
		"holdfast_held{invoice}": 1, "holdfast_waiting{invoice}": 0,
		"holdfast_granted_total{invoice,answer}": 1, "holdfast_lost_total{gone,invoice}": 0,
		"holdfast_store_calls_total{lock,}": 1,
	})
	came := make(chan *holdfast.Lease)
	go func() {
		lease, err := b.Mutex("invoice:1").Lock(t.Context())
		if err != nil {
			t.Error(err)
		}
		came <- lease
	}()
	shows(t, ma, map[string]float64{"holdfast_recalled_total{invoice}": 1})
	shows(t, mb, map[string]float64{"holdfast_waiting{invoice}": 1, "holdfast_held{invoice}": 0})
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second := <-came
	shows(t, ma, map[string]float64{
		"holdfast_held{invoice}": 0, "holdfast_released_total{invoice}": 1, "holdfast_hold_seconds{invoice}": 1,
	})
	shows(t, mb, map[string]float64{
		"holdfast_held{invoice}": 1, "holdfast_waiting{invoice}": 0, "holdfast_wait_seconds{invoice}": 1,
		"holdfast_granted_total{invoice,push}": 1, "holdfast_granted_total{invoice,answer}": 0,
		"holdfast_subscriptions_confirmed_total": 1,
	})
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
}

// Each source of a grant is told for what it is: a turn within the process, and a look of
// its own at a foreign client's lock, which tells nobody when it ends.
func TestCountsSources(t *testing.T) {
	store := embed(t)
	m := holdfastprom.New(nil)
	client := open(t, store, m, time.Minute)
	foreign := func(command string, args ...string) {
		t.Helper()
		call := driver.Call{Script: driver.NewScript("foreign", "return redis.call('"+command+"', KEYS[1], unpack(ARGV))"), Keys: []string{"holdfast:n"}, Args: args}
		if _, err := store.Eval(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	foreign("SET", "theirs", "PX", "60000")
	came := make(chan *holdfast.Lease)
	for range 2 {
		go func() {
			lease, err := client.Mutex("n").Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			came <- lease
		}()
	}
	shows(t, m, map[string]float64{"holdfast_waiting{all}": 2})
	foreign("DEL")
	for range 2 {
		if err := (<-came).Release(); err != nil {
			t.Fatal(err)
		}
	}
	shows(t, m, map[string]float64{
		"holdfast_granted_total{all,poll}": 1, "holdfast_granted_total{all,turn}": 1,
		"holdfast_granted_total{all,push}": 0, "holdfast_granted_total{all,answer}": 0,
		"holdfast_released_total{all}": 2, "holdfast_wait_seconds{all}": 2,
	})
}

// A lease whose key is deleted is counted as lost with its cause, its time of holding
// too, and it is not held any more; renewals before are counted with their slack.
func TestCountsALoss(t *testing.T) {
	store := embed(t)
	m := holdfastprom.New(nil)
	client := open(t, store, m, 2*time.Second)
	lease := lock(t, client, "n")
	end := time.Now().Add(patience)
	for scrape(t, m)["holdfast_renewals_total{all}"] < 2 {
		if time.Now().After(end) {
			t.Fatal("no renewals are counted")
		}
		time.Sleep(10 * time.Millisecond)
	}
	got := scrape(t, m)
	if least := got["holdfast_renewal_slack_min_ratio{all}"]; least < -1 || least > 1 || least == 0 {
		t.Errorf("least slack: got %v, want a share", least)
	}
	if n := got["holdfast_renewal_slack_ratio{all}"]; n < 2 {
		t.Errorf("slacks: got %v, want one for each renewal", n)
	}
	if err := admin.Of(client).Steal(t.Context(), "n", stolen(t, client, "n"), "test"); err != nil {
		t.Fatal(err)
	}
	<-lease.Done()
	shows(t, m, map[string]float64{
		"holdfast_lost_total{stolen,all}": 1, "holdfast_held{all}": 0, "holdfast_hold_seconds{all}": 1, "holdfast_released_total{all}": 0,
	})
}

// An export is no loss and no hold that ended, and its release is counted where it is
// released.
func TestCountsAnExport(t *testing.T) {
	store := embed(t)
	m, others := holdfastprom.New(nil), holdfastprom.New(nil)
	text, err := lock(t, open(t, store, m, time.Minute), "n").Export()
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, store, others, time.Minute)
	if err := other.ReleaseExported(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := other.ReleaseExported(t.Context(), text); !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("released twice: got %v, want ErrLost", err)
	}
	shows(t, m, map[string]float64{
		"holdfast_exported_total{all}": 1, "holdfast_exports_released_total{all}": 0, "holdfast_released_total{all}": 0, "holdfast_hold_seconds{all}": 0,
	})
	for key, n := range scrape(t, m) {
		if strings.HasPrefix(key, "holdfast_lost_total") && n != 0 {
			t.Errorf("%s: got %v, want 0", key, n)
		}
	}
	shows(t, others, map[string]float64{"holdfast_exports_released_total{all}": 1, "holdfast_released_total{all}": 0})
}

// What comes after MaxClasses classes is counted together: a Class that gives every name
// one of its own costs no more than that.
func TestClassesAreCapped(t *testing.T) {
	m := holdfastprom.New(&holdfastprom.Options{Class: func(name string) string { return name }})
	const names = 2 * holdfastprom.MaxClasses
	for i := range names {
		m.OnEvent(holdfast.Granted{Name: fmt.Sprint(i), Source: holdfast.SourceAnswer})
	}
	got := scrape(t, m)
	if n := testutil.CollectAndCount(m, "holdfast_released_total"); n != holdfastprom.MaxClasses+1 {
		t.Errorf("classes: got %d, want %d and other", n, holdfastprom.MaxClasses)
	}
	if n, want := got["holdfast_granted_total{other,answer}"], float64(names-holdfastprom.MaxClasses); n != want {
		t.Errorf("granted of class other: got %v, want %v", n, want)
	}
}

// The least slack is that of the last five minutes, whoever asks and how often.
func TestMinSlackIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := holdfastprom.New(nil)
		least := func() float64 {
			if v, ok := scrape(t, m)["holdfast_renewal_slack_min_ratio{all}"]; ok {
				return v
			}
			return math.Inf(1)
		}
		check := func(want float64) {
			t.Helper()
			for range 2 {
				if got := least(); got != want {
					t.Errorf("least slack: got %v, want %v", got, want)
				}
			}
		}
		check(math.Inf(1))
		m.OnEvent(holdfast.Renewed{Name: "n", Slack: 0.6})
		m.OnEvent(holdfast.RenewFailed{Name: "n", Slack: 0.1})
		m.OnEvent(holdfast.Renewed{Name: "n", Slack: 0.5})
		check(0.1)
		time.Sleep(4 * time.Minute)
		m.OnEvent(holdfast.Renewed{Name: "n", Slack: 0.65})
		check(0.1)
		time.Sleep(time.Minute)
		check(0.65)
		time.Sleep(5 * time.Minute)
		check(math.Inf(1))
	})
}

// A Client that nobody closed is not kept by being watched, and one that is closed holds
// nothing, whatever it held.
func TestWatchedClientsEnd(t *testing.T) {
	store := embed(t)
	m := holdfastprom.New(nil)
	client := open(t, store, m, time.Minute)
	lock(t, client, "n")
	shows(t, m, map[string]float64{"holdfast_held{all}": 1})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	shows(t, m, map[string]float64{"holdfast_held{all}": 0, "holdfast_waiting{all}": 0, "holdfast_lost_total{closed,all}": 1})
}

// Every event that the core can tell changes some metric but those of the line: nothing
// is forgotten in the switch.
func TestEveryEventCounts(t *testing.T) {
	for _, event := range []holdfast.Event{
		holdfast.Queued{Name: "n"}, holdfast.Granted{Name: "n", Source: "new"}, holdfast.Released{Name: "n"},
		holdfast.Lost{Name: "n", Cause: "new"}, holdfast.LeaseExported{Name: "n"}, holdfast.ExportReleased{Name: "n"}, holdfast.Renewed{Name: "n"}, holdfast.RenewFailed{Name: "n", Err: errors.New("x")},
		holdfast.Recalled{Name: "n"}, holdfast.SubscriptionConfirmed{}, holdfast.SubscriptionBroken{}, holdfast.Repaired{Name: "n"}, holdfast.Dropped{N: 3},
	} {
		m := holdfastprom.New(nil)
		before := fmt.Sprint(scrape(t, m))
		m.OnEvent(event)
		if after := fmt.Sprint(scrape(t, m)); after == before {
			t.Errorf("%T changes nothing", event)
		}
	}
}
