package holdfastprom

import (
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/prometheus/client_golang/prometheus"
)

// Options are the settings of a [Metrics]. The zero value means the defaults.
type Options struct {
	// Class returns the class of a name: the label under which its locks are
	// counted, such as "invoice" for "invoice:42". It is called for every
	// event, from one goroutine of each Client at a time, and from scrapes. It
	// must be quick. The first [MaxClasses] classes count; later ones are
	// counted as "other". Default: "all" for every name.
	Class func(name string) string
}

// MaxClasses is the number of classes, and of scripts, that have labels of
// their own.
const MaxClasses = 64

// Metrics are the metrics of the locks of this process. It is a
// prometheus.Collector. Its other methods are safe for concurrent use, for any
// number of Clients.
type Metrics struct {
	class func(string) string
	vectors
	servers *servers

	mu      sync.Mutex // protects the rest
	classes map[string]*class
	clients []local
}

var _ prometheus.Collector = (*Metrics)(nil)

// New makes the metrics of a process. Nil options mean the defaults.
func New(options *Options) *Metrics {
	m := &Metrics{
		class:   func(string) string { return "all" },
		vectors: newVectors(),
		servers: newServers(),
		classes: make(map[string]*class),
	}
	if options != nil && options.Class != nil {
		m.class = options.Class
	} else {
		m.of("") // so that nothing begins at its first event: increase() does not see that one
	}
	return m
}

// OnEvent counts one event. Give it to holdfast.Options.OnEvent, or call it
// from your own OnEvent.
func (m *Metrics) OnEvent(event holdfast.Event) {
	switch e := event.(type) {
	case holdfast.Queued:
		m.of(e.Name).polls.Inc()
	case holdfast.Granted:
		c := m.of(e.Name)
		m.granted.WithLabelValues(c.label, string(e.Source)).Inc()
		c.waits.Observe(e.Waited.Seconds())
	case holdfast.Released:
		c := m.of(e.Name)
		c.released.Inc()
		c.holds.Observe(e.Held.Seconds())
	case holdfast.Lost:
		c := m.of(e.Name)
		m.lost.WithLabelValues(c.label, string(e.Cause)).Inc()
		c.holds.Observe(e.Held.Seconds())
	case holdfast.LeaseExported:
		m.of(e.Name).exported.Inc()
	case holdfast.ExportReleased:
		m.of(e.Name).exportsReleased.Inc()
	case holdfast.Renewed:
		c := m.of(e.Name)
		c.renewed.Inc()
		c.slack(e.Slack)
	case holdfast.RenewFailed:
		c := m.of(e.Name)
		c.renewFailed.Inc()
		c.slack(e.Slack)
	case holdfast.Recalled:
		m.of(e.Name).recalled.Inc()
	case holdfast.Repaired:
		m.of(e.Name).repaired.Inc()
	case holdfast.SizeMismatch: // once for each size of a name: the log says it, a rate would not
	case holdfast.SubscriptionConfirmed:
		m.confirmed.Inc()
	case holdfast.SubscriptionBroken:
		m.broken.Inc()
	case holdfast.Dropped:
		m.dropped.Add(float64(e.N))
	}
}

// Store returns a store whose calls are counted. Give it to holdfast.New in
// place of the store itself. label distinguishes several stores, such as the
// nodes of a quorum; it may be empty. It does not close the store.
func (m *Metrics) Store(store driver.Store, label string) driver.Store {
	return m.servers.counted(store, label)
}

// Watch counts the leases and the waiting callers of a Client at every scrape.
// It reads them from the Client itself, so they are exact even if events were
// dropped. It does not keep the Client alive. A Client that is closed or gone
// counts as zero.
func (m *Metrics) Watch(client *holdfast.Client) {
	m.watch(weakly(client, (*holdfast.Client).LocalState))
}

// WatchQuorum is Watch for the client of a quorum.
func (m *Metrics) WatchQuorum(client *holdfast.QuorumClient) {
	m.watch(weakly(client, (*holdfast.QuorumClient).LocalState))
}

// local reads what one client holds and waits for; ok is false if the client is gone.
type local func() (states []holdfast.LocalState, ok bool)

// weakly reads a client without keeping it alive.
func weakly[C any](client *C, read func(*C) []holdfast.LocalState) local {
	pointer := weak.Make(client)
	return func() ([]holdfast.LocalState, bool) {
		if client := pointer.Value(); client != nil {
			return read(client), true
		}
		return nil, false
	}
}

func (m *Metrics) watch(l local) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clients = append(m.clients, l)
}

// watched reads the clients that are left.
func (m *Metrics) watched() (states []holdfast.LocalState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clients = slices.DeleteFunc(m.clients, func(l local) bool {
		of, ok := l()
		states = append(states, of...)
		return !ok
	})
	return states
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descs)
	}
	descs <- heldDesc
	descs <- waitingDesc
	descs <- minSlackDesc
}

// Collect implements prometheus.Collector. It asks no server.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.count(metrics) // first: it may meet new classes
	for _, c := range m.collectors() {
		c.Collect(metrics)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return append(m.vectors.collectors(), m.servers.collectors()...)
}

// count yields what the classes hold and want now, and their slack of late.
func (m *Metrics) count(metrics chan<- prometheus.Metric) {
	held, waiting := map[*class]int{}, map[*class]int{}
	for _, here := range m.watched() {
		c := m.of(here.Name)
		held[c] += here.Held
		waiting[c] += here.Waiting
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, c := range m.classes {
		metrics <- prometheus.MustNewConstMetric(heldDesc, prometheus.GaugeValue, float64(held[c]), name)
		metrics <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting[c]), name)
		if least, known := c.minSlack.of(now); known {
			metrics <- prometheus.MustNewConstMetric(minSlackDesc, prometheus.GaugeValue, least, name)
		}
	}
}

// of is the class of a name.
func (m *Metrics) of(name string) *class {
	label := m.class(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	label = capped(m.classes, label)
	c := m.classes[label]
	if c == nil {
		c = m.newClass(label)
		m.classes[label] = c
	}
	return c
}

// overflow is the label of what is one too many.
const overflow = "other"

// capped is a label that is known, or may become known.
func capped[V any](known map[string]V, label string) string {
	if _, ok := known[label]; !ok && len(known) >= MaxClasses {
		return overflow
	}
	return label
}
