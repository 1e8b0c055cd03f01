package holdfastprom

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/prometheus/client_golang/prometheus"
)

// servers are the metrics of stores.
type servers struct {
	calls, errors *prometheus.CounterVec
	seconds       *prometheus.HistogramVec

	mu      sync.Mutex        // protects scripts
	scripts map[string]string // the label of a script
}

func newServers() *servers {
	return &servers{
		scripts: make(map[string]string),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_store_calls_total",
			Help: "Scripts that were sent to a store."}, []string{"store", "script"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_store_errors_total",
			Help: "Scripts, subscriptions and scans that a store refused or did not answer, by error."}, []string{"store", "script", "error"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "holdfast_store_seconds",
			Help:    "Time from sending to the answer or the timeout: one script, a pipeline, a script with WAIT, a subscription.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .05, .1, .5, 1, 2.5}}, []string{"store", "method"}),
	}
}

func (s *servers) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.calls, s.errors, s.seconds}
}

// counted returns a store whose calls are counted.
func (s *servers) counted(store driver.Store, label string) *counted {
	method := func(name string) prometheus.Observer { return s.seconds.WithLabelValues(label, name) }
	return &counted{
		Store: store, servers: s, label: label,
		eval: method("eval"), pipeline: method("pipeline"), wait: method("wait"), subscribe: method("subscribe"),
	}
}

// script returns the label of a script. The number of labels is bounded, because users may run
// any number of scripts.
func (s *servers) script(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = capped(s.scripts, name)
	s.scripts[name] = name
	return name
}

// counted is a Store whose calls are counted.
type counted struct {
	driver.Store
	servers                         *servers
	label                           string
	eval, pipeline, wait, subscribe prometheus.Observer
	scripts                         sync.Map // by name: the counter of its calls
}

func (c *counted) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	began := time.Now()
	reply, err := c.Store.Eval(ctx, call)
	c.eval.Observe(time.Since(began).Seconds())
	c.count(call.Script.Name, err)
	return reply, err
}

func (c *counted) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	began := time.Now()
	results := c.Store.EvalAll(ctx, calls)
	c.pipeline.Observe(time.Since(began).Seconds())
	c.countAll(calls, results)
	return results
}

func (c *counted) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	began := time.Now()
	results, acked, err := c.Store.EvalWait(ctx, calls, replicas, timeout)
	c.wait.Observe(time.Since(began).Seconds())
	c.countAll(calls, results)
	c.failed("WAIT", err)
	return results, acked, err
}

func (c *counted) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	began := time.Now()
	s, err := c.Store.Subscribe(ctx, channel, message)
	c.subscribe.Observe(time.Since(began).Seconds())
	c.failed("SUBSCRIBE", err)
	return s, err
}

func (c *counted) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key, err := range c.Store.Scan(ctx, match) {
			c.failed("SCAN", err)
			if !yield(key, err) {
				return
			}
		}
	}
}

func (c *counted) countAll(calls []driver.Call, results []driver.Result) {
	for i, result := range results {
		c.count(calls[i].Script.Name, result.Err)
	}
}

func (c *counted) count(script string, err error) {
	known, _ := c.scripts.Load(script)
	calls, ok := known.(prometheus.Counter)
	if !ok {
		calls = c.first(script)
	}
	calls.Inc()
	if err != nil {
		c.failed(c.servers.script(script), err)
	}
}

// first is the counter of a script that was not counted here before.
func (c *counted) first(script string) prometheus.Counter {
	label := c.servers.script(script)
	counter := c.servers.calls.WithLabelValues(c.label, label)
	if label == script { // of those that share one there may be any number
		c.scripts.Store(script, counter)
	}
	return counter
}

// failed counts an error, except of a call that was cancelled.
func (c *counted) failed(script string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.servers.errors.WithLabelValues(c.label, script, kindOf(err)).Inc()
	}
}

// words are those by which servers begin an error. The last stands for the rest.
var words = []string{
	"READONLY", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "BUSY", "OOM", "MASTERDOWN", "NOREPLICAS",
	"MISCONF", "NOSCRIPT", "NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE", "UNBLOCKED", "FAILOVER", "ERR",
}

// kindOf is an error in one word: the server's own, timeout, or network.
func kindOf(err error) string {
	said, refused := errors.AsType[driver.ServerError](err)
	switch {
	case refused:
		word, _, _ := strings.Cut(string(said), " ")
		if slices.Contains(words, word) {
			return word
		}
		return words[len(words)-1]
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "network"
}
