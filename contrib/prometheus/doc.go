// Package holdfastprom exports holdfast to Prometheus, with
// github.com/prometheus/client_golang.
//
// [Metrics] is what one process knows of its own locks. Give its OnEvent to
// holdfast.Options and its Store to holdfast.New in place of your own store.
// Then call Watch with the Client, and register it. [Inventory] is what stands
// in Redis for all processes, and [Jobs] are the runs of "holdfast run" and
// "elect": one process of a deployment is enough to collect these.
//
// No metric but those of jobs has the name of a lock as a label, because there may
// be millions of names. Options.Class maps names to a few classes. docs/metrics.md has every
// metric with its labels and meaning. deploy/prometheus has alert rules, and
// deploy/grafana a dashboard.
package holdfastprom
