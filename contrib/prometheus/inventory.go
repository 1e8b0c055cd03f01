package holdfastprom

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/prometheus/client_golang/prometheus"
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

	mu      sync.Mutex // guards the rest
	running chan struct{}
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

func figuresOf(s *diagnose.Report, at time.Time) *figures {
	f := &figures{
		at:     at,
		states: map[string]int{"held": s.Counts.Held, "cooldown": s.Counts.Cooldown, "free": s.Counts.Free, "unreadable": s.Counts.Unreadable},
		held:   make(map[holdfast.Kind]int), waiting: make(map[holdfast.Kind]int),
		longestWait: make(map[holdfast.Kind]time.Duration),
		codes:       s.Counts.Codes,
	}
	for _, n := range s.Names {
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

// refresh begins a survey if one is due, and waits a while for the one that runs.
func (i *Inventory) refresh() {
	i.mu.Lock()
	now := time.Now()
	if i.running == nil && (i.began.IsZero() || now.Sub(i.began) >= i.options.Every) {
		i.running, i.began = make(chan struct{}), now
		go i.survey(i.running, now)
	}
	running := i.running
	i.mu.Unlock()
	if running == nil {
		return
	}
	patience := time.NewTimer(i.options.Wait)
	defer patience.Stop()
	select {
	case <-running:
	case <-patience.C:
	}
}

// survey takes new figures. It ends within Limit.
func (i *Inventory) survey(done chan<- struct{}, began time.Time) {
	defer close(done)
	ctx, cancel := context.WithTimeout(context.Background(), i.options.Timeout)
	defer cancel()
	report, capped, err := i.look(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running, i.took = nil, time.Since(began)
	i.up, i.capped = err == nil && !capped, capped
	if i.up {
		i.shown = figuresOf(report, began)
	}
}

// look surveys all names, unless there are too many.
func (i *Inventory) look(ctx context.Context) (report *diagnose.Report, capped bool, err error) {
	n := 0
	for _, err := range i.names.Names(ctx, i.options.Prefix) {
		if err != nil {
			return nil, false, err
		}
		if n++; n > i.options.MaxNames {
			return nil, true, nil
		}
	}
	survey, err := i.names.Survey(ctx, i.options.Prefix)
	if err != nil {
		return nil, false, err
	}
	return diagnose.Survey(survey, nil), false, nil
}
