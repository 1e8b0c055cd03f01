package metrics_test

import (
	"log/slog"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/eventlog"
	holdfastotel "github.com/holdfast-go/holdfast/contrib/otel"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
)

// Metrics, traces and a log of the same events.
func Example() {
	metrics, tracing, note := holdfastprom.New(nil), holdfastotel.New(nil), eventlog.New(slog.Default(), nil)
	_ = holdfast.Options{
		OnEvent: func(event holdfast.Event) { metrics.OnEvent(event); tracing.OnEvent(event); note(event) },
	}
	// Output:
}
