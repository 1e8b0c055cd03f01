package serve

import (
	"net/http"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsOf serves what a Client does and sees: its own locks, the inventory of Redis, and
// this process. A registry of its own, so that nothing registers itself there unasked.
func metricsOf(own *holdfastprom.Metrics, client *holdfast.Client) http.Handler {
	own.Watch(client)
	registry := prometheus.NewRegistry()
	registry.MustRegister(own, holdfastprom.NewInventory(admin.Of(client), nil),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
