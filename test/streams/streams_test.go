//go:build unix

package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Streams of one client are all granted, renewed and released; dashboards beside them are
// fed by one look for all.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	var out strings.Builder
	if err := measure(t.Context(), &out, 100, 50, 2500*time.Millisecond, 4*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"100 streams", "resident per connection", "lost 0, without a renewal 0", "50 dashboards", "looks at Redis"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", &out, want)
		}
	}
	t.Log("\n" + out.String())
}
