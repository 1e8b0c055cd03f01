// Package metrics_test holds what is written about the metrics, in documents, alert rules
// and the dashboard, to the collectors themselves.
package metrics_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

const patience = 60 * time.Second

// metric is one that a collector really gives.
type metric struct {
	kind   string // counter, gauge, histogram
	labels []string
	values map[string][]string // by label: all that were seen
}

// described counts what a collector says that it may give.
func described(c prometheus.Collector) int {
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	return len(descs)
}

// registered is all that Metrics, Inventory and Jobs give, each made to give everything once.
func registered(t *testing.T) map[string]metric {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	m := holdfastprom.New(nil)
	client := holdfast.New(m.Store(store, "a"), nil)
	t.Cleanup(func() { client.Close() })
	m.Watch(client)
	m.OnEvent(holdfast.RenewFailed{Name: "n", Err: errors.New("late"), Slack: 0.3})
	failing := m.Store(refusing{store}, "a")
	_, _ = failing.Subscribe(t.Context(), "channel", nil)
	if _, err := m.Store(store, "a").Eval(t.Context(), driver.Call{Script: driver.NewScript("lock", "return 1")}); err != nil {
		t.Fatal(err)
	}
	inventory := holdfastprom.NewInventory(admin.Of(client), &holdfastprom.InventoryOptions{Wait: patience})

	registry := prometheus.NewPedanticRegistry()
	writer := journal.NewWriter(store, nil)
	writer.Note(journal.Entry{Event: journal.Started, Name: "nightly", Token: 1})
	writer.Note(journal.Entry{Event: journal.Ended, Name: "nightly", Token: 1, Held: time.Second})
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	jobs := holdfastprom.NewJobs(admin.Of(client), store, &holdfastprom.JobsOptions{Wait: patience})
	registry.MustRegister(m, inventory, jobs)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]metric)
	for _, family := range families {
		all[family.GetName()] = read(family)
	}
	if got, want := len(all), described(m)+described(inventory)+described(jobs); got != want {
		t.Fatalf("%d metrics were given of %d that are described: this test has to make each appear", got, want)
	}
	return all
}

func read(family *dto.MetricFamily) metric {
	m := metric{kind: strings.ToLower(family.GetType().String()), values: make(map[string][]string)}
	for _, one := range family.Metric {
		for _, label := range one.Label {
			if !slices.Contains(m.labels, label.GetName()) {
				m.labels = append(m.labels, label.GetName())
			}
			m.values[label.GetName()] = append(m.values[label.GetName()], label.GetValue())
		}
	}
	return m
}

// refusing is a store that makes no subscription.
type refusing struct{ driver.Store }

func (refusing) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, driver.ServerError("NOPERM it may not")
}

// text is a file of the repository.
func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
