package bench

import (
	"testing"
	"time"
)

// A percentile is a sample, and few samples have no 99th.
func TestPercentile(t *testing.T) {
	var samples []time.Duration
	for n := range 100 {
		samples = append(samples, time.Duration(100-n)*time.Millisecond)
	}
	ms := microseconds(time.Millisecond)
	m := newMeasure("", samples)
	if m.Min != ms || m.P50 != 50*ms || m.P90 != 90*ms || m.P99 == nil || *m.P99 != 99*ms || m.Max != 100*ms {
		t.Errorf("of 1 to 100 ms: got %+v", m)
	}
	if m := newMeasure("", samples[1:]); m.P99 != nil {
		t.Errorf("a p99 of 99 samples: %v", *m.P99)
	}
	if m := newMeasure("", samples[:1]); m.P50 != ms {
		t.Errorf("of one sample: got %v, want %v", m.P50, ms)
	}
}
