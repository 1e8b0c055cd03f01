package holdfastprom_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
)

// What the package comment says of costs: of an event, beside the lock path.
func BenchmarkEvent(b *testing.B) {
	m := holdfastprom.New(&holdfastprom.Options{Class: byKind})
	granted := holdfast.Granted{Name: "invoice:42", Token: 1, Waited: time.Millisecond, Source: holdfast.SourcePush}
	for b.Loop() {
		m.OnEvent(granted)
	}
}

// Of a call of the store, on the lock path.
func BenchmarkStore(b *testing.B) {
	store := holdfastprom.New(nil).Store(broken{}, "")
	call := driver.Call{Script: driver.NewScript("lock", "return 1")}
	for b.Loop() {
		_, _ = store.Eval(context.Background(), call)
	}
}

// Of a scrape of a process that holds 10,000 names.
func BenchmarkScrape(b *testing.B) {
	m := holdfastprom.New(nil)
	client := open(b, embed(b), m, time.Hour)
	const names = 10_000
	for i := range names {
		if _, err := client.Mutex(strconv.Itoa(i)).Lock(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		scrape(b, m)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/names, "ns/name")
}
