package holdfastprom

import (
	"github.com/holdfast-go/holdfast"
	"github.com/prometheus/client_golang/prometheus"
)

// vectors are the metrics of locks, all but those that are counted at a scrape.
type vectors struct {
	waits, holds, slacks *prometheus.HistogramVec
	granted, lost        *prometheus.CounterVec
	released, polls      *prometheus.CounterVec
	exported             *prometheus.CounterVec
	exportsReleased      *prometheus.CounterVec
	renewed, renewFailed *prometheus.CounterVec
	recalled, repaired   *prometheus.CounterVec
	confirmed, broken    prometheus.Counter
	dropped              prometheus.Counter
}

var (
	heldDesc = prometheus.NewDesc("holdfast_held",
		"Leases that this process holds.", []string{"class"}, nil)
	waitingDesc = prometheus.NewDesc("holdfast_waiting",
		"Calls of this process that wait for a lease.", []string{"class"}, nil)
	minSlackDesc = prometheus.NewDesc("holdfast_renewal_slack_min_ratio",
		"Smallest share of the TTL left at a renewal or a failed renewal, in the last 5 minutes.", []string{"class"}, nil)
)

func newVectors() vectors {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"class"}, labels...))
	}
	histogram := func(name, help string, buckets ...float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"class"})
	}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return vectors{
		waits: histogram("holdfast_wait_seconds", "Time from the call of Lock to its lease, for calls that got one.",
			.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300, 1800),
		holds: histogram("holdfast_hold_seconds", "Duration of leases that ended, by release or loss, not by export.",
			.001, .01, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400),
		slacks: histogram("holdfast_renewal_slack_ratio", "Share of the TTL left at a renewal or a failed renewal.",
			.05, .1, .2, .3, .4, .5, .6, .7, .8),
		granted:         counter("holdfast_granted_total", "Leases that began.", "source"),
		released:        counter("holdfast_released_total", "Leases that were released."),
		lost:            counter("holdfast_lost_total", "Leases that were lost before their release.", "cause"),
		exported:        counter("holdfast_exported_total", "Leases that were exported: their names stay held, without a process."),
		polls:           counter("holdfast_polls_total", "Polls by waiters of this process."),
		renewed:         counter("holdfast_renewals_total", "Renewals that Redis answered."),
		renewFailed:     counter("holdfast_renewal_failures_total", "Renewals that were not answered, were refused, or were acknowledged by too few replicas."),
		exportsReleased: counter("holdfast_exports_released_total", "Exported holds that this process released."),
		recalled:        counter("holdfast_recalled_total", "Tenures for which another process began to wait."),
		repaired:        counter("holdfast_repaired_total", "Keys without expiry that were repaired."),
		confirmed:       single("holdfast_subscriptions_confirmed_total", "Subscriptions for pushes that were confirmed."),
		broken:          single("holdfast_subscriptions_broken_total", "Subscriptions for pushes that broke."),
		dropped:         single("holdfast_events_dropped_total", "Events dropped because OnEvent was too slow."),
	}
}

func (v *vectors) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		v.waits, v.holds, v.slacks, v.granted, v.released, v.lost, v.exported, v.exportsReleased, v.polls, v.renewed, v.renewFailed,
		v.recalled, v.repaired, v.confirmed, v.broken, v.dropped,
	}
}

// newClass returns the counters of a class, which begin at 0.
func (v *vectors) newClass(label string) *class {
	c := &class{
		label: label,
		waits: v.waits.WithLabelValues(label), holds: v.holds.WithLabelValues(label), slacks: v.slacks.WithLabelValues(label),
		released: v.released.WithLabelValues(label), polls: v.polls.WithLabelValues(label),
		exported: v.exported.WithLabelValues(label), exportsReleased: v.exportsReleased.WithLabelValues(label),
		renewed: v.renewed.WithLabelValues(label), renewFailed: v.renewFailed.WithLabelValues(label),
		recalled: v.recalled.WithLabelValues(label), repaired: v.repaired.WithLabelValues(label),
	}
	for _, s := range sources {
		v.granted.WithLabelValues(label, string(s))
	}
	for _, cause := range causes {
		v.lost.WithLabelValues(label, string(cause))
	}
	return c
}

// sources and causes have their counters from the start: increase() does not see the
// first event of a counter that begins with it.
var (
	sources = []holdfast.Source{holdfast.SourceAnswer, holdfast.SourcePush, holdfast.SourcePoll, holdfast.SourceTurn}
	causes  = []holdfast.Cause{
		holdfast.Expired, holdfast.Taken, holdfast.Gone, holdfast.Closed, holdfast.MaxHold,
		holdfast.Revoked, holdfast.Stolen,
	}
)

// class is what is counted of the names of one class.
type class struct {
	label                                                     string
	waits, holds, slacks                                      prometheus.Observer
	released, polls, renewed, renewFailed, recalled, repaired prometheus.Counter
	exported, exportsReleased                                 prometheus.Counter
	minSlack                                                  recentMin
}

func (c *class) slack(share float64) {
	c.slacks.Observe(share)
	c.minSlack.note(share)
}
