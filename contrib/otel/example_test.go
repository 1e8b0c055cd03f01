package holdfastotel_test

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast"
	holdfastotel "github.com/holdfast-go/holdfast/contrib/otel"
	"github.com/holdfast-go/holdfast/embedded"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// In production the provider is the program's own, and New(nil) takes it from otel.
func Example() {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	store, err := embedded.Open(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	tracing := holdfastotel.New(&holdfastotel.Options{TracerProvider: provider})
	client := holdfast.New(store, &holdfast.Options{OnEvent: tracing.OnEvent})
	defer client.Close()

	err = tracing.Do(context.Background(), client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		return ctx.Err() // the work
	})
	if err != nil {
		fmt.Println(err)
	}

	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name, span.Attributes[0].Value.AsString())
		for _, event := range span.Events {
			fmt.Println("  " + event.Name)
		}
	}
	// Output:
	// acquire invoice:42
	//   granted
}
