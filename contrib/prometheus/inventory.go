package holdfastprom

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	inventoryNames = prometheus.NewDesc("holdfast_inventory_names",
		"Names that are held, waited for, or were locked in the last day, by state.", []string{"state"}, nil)
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

// InventoryOptions are the settings of an [Inventory]. The zero value means the
// defaults.
type InventoryOptions struct {
	// Prefix is that of the names that are counted. Default: all names.
	Prefix string

	// Every is the shortest time from the begin of one survey to the next, for
	// all scrapers together. Default: 30 s.
	Every time.Duration

	// Wait is how long a scrape waits for a survey. If the survey takes longer,
	// the scrape gets the figures of the one before. The next scrape gets the
	// new ones. Default: 1 s.
	Wait time.Duration

	// Timeout is how long a survey may take before it is cancelled. Default: 30
	// s.
	Timeout time.Duration

	// Diagnose is what is known of names beside Redis, such as for how long they are
	// usually held: see journal.TypicalHolds. Default: nothing.
	Diagnose *diagnose.Options

	// Except reports whether a name is left out of holdfast_inventory_diagnosed, so
	// that no alert is about it. Default: none is.
	Except func(name string) bool

	// MaxNames is the largest number of names that is surveyed. If there are
	// more, nothing is surveyed and holdfast_inventory_capped is 1. Each 10,000
	// held names cost Redis about 100 ms per survey. Default: 20,000.
	MaxNames int
}

// Inventory is what stands in Redis for all processes. It is a
// prometheus.Collector over Survey of package admin. It counts names and never uses one
// as a label.
//
// A scrape begins a survey if the figures are older than
// InventoryOptions.Every. Without scrapes it asks nothing. At most one survey
// runs at a time.
type Inventory struct {
	names   admin.Reader
	options InventoryOptions

	mu      sync.Mutex // protects the rest
	running *round     // nil: none
	began   time.Time
	shown   *figures // the newest that succeeded; nil: none
	up      bool     // the newest survey succeeded
	capped  bool     // it was not made, since there are too many names
	took    time.Duration
}

var _ prometheus.Collector = (*Inventory)(nil)

// NewInventory makes the inventory of the names that admin.Of or
// admin.OfQuorum returns. Nil options
// mean the defaults.
func NewInventory(names admin.Reader, options *InventoryOptions) *Inventory {
	i := &Inventory{names: names}
	if options != nil {
		i.options = *options
	}
	o := &i.options
	if o.Every < 0 || o.Wait < 0 || o.Timeout < 0 || o.MaxNames < 0 {
		panic("holdfastprom: InventoryOptions must not be negative")
	}
	defaultTo(&o.Every, 30*time.Second)
	defaultTo(&o.Wait, time.Second)
	defaultTo(&o.Timeout, 30*time.Second)
	defaultTo(&o.MaxNames, 20_000)
	return i
}

func defaultTo[V comparable](v *V, otherwise V) {
	var zero V
	if *v == zero {
		*v = otherwise
	}
}

// figures are those of one survey.
type figures struct {
	at          time.Time
	states      map[string]int // names by what they are: held, cooldown, free, unreadable
	held        map[holdfast.Kind]int
	waiting     map[holdfast.Kind]int
	longestWait map[holdfast.Kind]time.Duration
	codes       map[diagnose.Code]int
}

var kinds = []holdfast.Kind{holdfast.KindMutex, holdfast.KindSemaphore, holdfast.KindRWMutex}

func figuresOf(s *diagnose.Report, except func(name string) bool, at time.Time) *figures {
	f := &figures{
		at:     at,
		states: map[string]int{"held": s.Counts.Held, "cooldown": s.Counts.Cooldown, "free": s.Counts.Free, "unreadable": s.Counts.Unreadable},
		held:   make(map[holdfast.Kind]int), waiting: make(map[holdfast.Kind]int),
		longestWait: make(map[holdfast.Kind]time.Duration),
		codes:       make(map[diagnose.Code]int),
	}
	for _, n := range s.Names {
		if except == nil || !except(n.Name) {
			for _, d := range n.Reasons {
				f.codes[d.Code]++
			}
		}
		if n.Err != nil {
			continue
		}
		if h := n.Holder; h != nil && !h.Cooldown {
			f.held[n.Kind]++
		}
		f.waiting[n.Kind] += n.Waiting
		for _, w := range n.Waiters {
			f.longestWait[n.Kind] = max(f.longestWait[n.Kind], w.Waited)
		}
	}
	return f
}

// round is one survey. When done is closed, it has a report or an error.
type round struct {
	done   chan struct{}
	report *diagnose.Report
	err    error
}

// Survey makes a survey, or joins the one that runs, and returns its report. Scrapes get
// figures of the same survey, so a program that also needs the names does not scan
// twice. It fails if there are more than InventoryOptions.MaxNames names.
func (i *Inventory) Survey(ctx context.Context) (*diagnose.Report, error) {
	r := i.join(0)
	select {
	case <-r.done:
		return r.report, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join returns the survey that runs. If none runs and the newest began at least age ago, it
// begins one; otherwise it returns nil.
func (i *Inventory) join(age time.Duration) *round {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	if i.running == nil && (i.began.IsZero() || now.Sub(i.began) >= age) {
		i.running, i.began = &round{done: make(chan struct{})}, now
		go i.survey(i.running, now)
	}
	return i.running
}

// refresh begins a survey if one is due, and waits a while for the one that runs.
func (i *Inventory) refresh() {
	r := i.join(i.options.Every)
	if r == nil {
		return
	}
	patience := time.NewTimer(i.options.Wait)
	defer patience.Stop()
	select {
	case <-r.done:
	case <-patience.C:
	}
}

// survey takes new figures. It ends within Timeout.
func (i *Inventory) survey(r *round, began time.Time) {
	defer close(r.done)
	ctx, cancel := context.WithTimeout(context.Background(), i.options.Timeout)
	defer cancel()
	report, err := i.report(ctx)
	r.report, r.err = report, err
	capped := errors.Is(err, admin.ErrTooMany)
	if capped {
		r.err = fmt.Errorf("holdfastprom: more than %d names: nothing is surveyed", i.options.MaxNames)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running, i.took = nil, time.Since(began)
	i.up, i.capped = err == nil, capped
	if i.up {
		i.shown = figuresOf(report, i.options.Except, began)
	}
}

// report surveys all names.
func (i *Inventory) report(ctx context.Context) (*diagnose.Report, error) {
	survey, err := i.names.Survey(ctx, i.options.Prefix, i.options.MaxNames)
	if err == nil {
		err = doctor.HidesWaiters(ctx, i.names, survey)
	}
	if err != nil {
		return nil, err
	}
	return diagnose.Survey(survey, i.options.Diagnose), nil
}

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
