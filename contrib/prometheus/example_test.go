package holdfastprom_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func Example() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	registry := prometheus.NewRegistry()
	byKind := func(name string) string { // "invoice" of "invoice:42"
		kind, _, _ := strings.Cut(name, ":")
		return kind
	}

	metrics := holdfastprom.New(&holdfastprom.Options{Class: byKind})
	client := holdfast.New(metrics.Store(store, ""), &holdfast.Options{OnEvent: metrics.OnEvent})
	defer client.Close()
	metrics.Watch(client)
	registry.MustRegister(metrics)

	// In one process of the deployment:
	registry.MustRegister(holdfastprom.NewInventory(admin.Of(client), nil), holdfastprom.NewJobs(admin.Of(client), store, nil))

	lease, err := client.Mutex("invoice:42").Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release() }()

	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	page := ""
	for end := time.Now().Add(10 * time.Second); !strings.Contains(page, `granted_total{class="invoice",source="answer"} 1`) && time.Now().Before(end); {
		response := httptest.NewRecorder() // events are counted beside the locks
		handler.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
		page = response.Body.String()
	}
	for line := range strings.Lines(page) {
		switch name, _, _ := strings.Cut(line, "{"); name {
		case "holdfast_held", "holdfast_granted_total", "holdfast_inventory_held":
			fmt.Print(line)
		}
	}
	// Output:
	// holdfast_granted_total{class="invoice",source="answer"} 1
	// holdfast_granted_total{class="invoice",source="poll"} 0
	// holdfast_granted_total{class="invoice",source="push"} 0
	// holdfast_granted_total{class="invoice",source="turn"} 0
	// holdfast_held{class="invoice"} 1
	// holdfast_inventory_held{kind="mutex"} 1
	// holdfast_inventory_held{kind="rwmutex"} 0
	// holdfast_inventory_held{kind="semaphore"} 0
}
