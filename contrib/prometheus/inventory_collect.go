package holdfastprom

import (
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	inventoryNames = prometheus.NewDesc("holdfast_inventory_names",
		"Names locked in the last day, by state.", []string{"state"}, nil)
	inventoryHeld = prometheus.NewDesc("holdfast_inventory_held",
		"Held names.", []string{"kind"}, nil)
	inventoryWaiting = prometheus.NewDesc("holdfast_inventory_waiting",
		"Waiting processes, over all names; for semaphores and RW locks, waiting acquisitions.", []string{"kind"}, nil)
	inventoryLongestWait = prometheus.NewDesc("holdfast_inventory_longest_wait_seconds",
		"Longest wait so far, among the first 100 waiters of each name.", []string{"kind"}, nil)
	inventoryDiagnosed = prometheus.NewDesc("holdfast_inventory_diagnosed",
		"Names with this diagnosis; problem=true: an operator should act.", []string{"code", "problem"}, nil)
	inventoryUp = prometheus.NewDesc("holdfast_inventory_up",
		"1 if the newest survey succeeded.", nil, nil)
	inventoryCapped = prometheus.NewDesc("holdfast_inventory_capped",
		"1: there are more than InventoryOptions.MaxNames names, so nothing is surveyed.", nil, nil)
	inventoryAge = prometheus.NewDesc("holdfast_inventory_age_seconds",
		"Age of these figures: time since their survey began.", nil, nil)
	inventorySeconds = prometheus.NewDesc("holdfast_inventory_survey_seconds",
		"Duration of the newest survey, or of the wait for it.", nil, nil)
)

// Describe implements prometheus.Collector.
func (i *Inventory) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		inventoryNames, inventoryHeld, inventoryWaiting, inventoryLongestWait, inventoryDiagnosed,
		inventoryUp, inventoryCapped, inventoryAge, inventorySeconds,
	} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. It blocks for at most
// InventoryOptions.Wait.
func (i *Inventory) Collect(metrics chan<- prometheus.Metric) {
	i.refresh()
	i.mu.Lock()
	shown, up, capped, took := i.shown, i.up, i.capped, i.took
	i.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(inventoryUp, truth(up))
	gauge(inventoryCapped, truth(capped))
	gauge(inventorySeconds, took.Seconds())
	if shown == nil {
		return
	}
	gauge(inventoryAge, time.Since(shown.at).Seconds())
	for state, n := range shown.states {
		gauge(inventoryNames, float64(n), state)
	}
	for _, kind := range kinds {
		gauge(inventoryHeld, float64(shown.held[kind]), string(kind))
		gauge(inventoryWaiting, float64(shown.waiting[kind]), string(kind))
		gauge(inventoryLongestWait, shown.longestWait[kind].Seconds(), string(kind))
	}
	for _, code := range diagnose.Codes() {
		gauge(inventoryDiagnosed, float64(shown.codes[code]), string(code), strconv.FormatBool(code.Problem()))
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
