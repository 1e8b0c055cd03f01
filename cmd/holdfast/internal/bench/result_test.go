package bench

import (
	"testing"
	"time"
)

// A percentile is a sample, and few samples have no 99th.
func TestPercentile(t *testing.T) {
	var samples []time.Duration
	for n := range 100 {
		samples = append(samples, ms(100-n))
	}
	m := newMeasure("", samples)
	for p, want := range map[int]time.Duration{0: ms(1), 50: ms(50), 90: ms(90), 99: ms(99), 100: ms(100)} {
		if got := m.percentile(p); got != want {
			t.Errorf("percentile %d: got %v, want %v", p, got, want)
		}
	}
	if !m.enough() || newMeasure("", samples[1:]).enough() {
		t.Error("want a p99 of 100 samples, and none of 99")
	}
	if got, want := newMeasure("", samples[:1]).percentile(50), ms(100); got != want {
		t.Errorf("of one sample: got %v, want %v", got, want)
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
