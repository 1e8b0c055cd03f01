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

// Streams of one client are all granted, renewed and released, and what they cost is told.
func TestMeasure(t *testing.T) {
	var out strings.Builder
	if err := measure(t.Context(), &out, 100, 5*time.Second, 3*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"100 streams", "resident per connection", "lost 0, without a renewal 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", &out, want)
		}
	}
	t.Log("\n" + out.String())
}
