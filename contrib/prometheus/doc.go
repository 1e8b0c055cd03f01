// Package holdfastprom gives what holdfast does to Prometheus, by
// github.com/prometheus/client_golang.
//
// Metrics is what one process sees of its own locks: give its OnEvent to
// holdfast.Options, its Store to holdfast.New in place of your own, the Client to Watch,
// and itself to a registry. Inventory is what stands in Redis, whoever put it there:
// one process for a deployment is enough to collect that.
//
// No metric bears the name of a lock, of which there may be millions: Options.Class puts
// names into a few classes, and without it all are of one. docs/metrics.md has every
// metric with its labels and meaning, deploy/prometheus alert rules for them, and
// deploy/grafana a dashboard.
//
// What it costs: less than a microsecond an event, beside the lock path; for each call of
// the store, which is a round trip, as much before its answer is passed on; and some
// microseconds at a scrape for each name that is held or waited for.
package holdfastprom
