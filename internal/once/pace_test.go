package once

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// Calls at these seconds, for a period of 10 s.
func TestPace(t *testing.T) {
	for what, c := range map[string]struct {
		calls  []float64
		reject []int // the calls that are one too many
	}{
		"each tick":                      {[]float64{0, 10, 20, 30, 40, 50, 60}, nil},
		"a little early and late":        {[]float64{0, 9, 21, 29, 41, 49}, nil},
		"twice each tick":                {[]float64{0, 5, 10, 15, 20, 25, 30}, nil},
		"every 2 s":                      {[]float64{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, []int{3}},
		"ten callers at each tick":       {[]float64{0, 0.1, 0.1, 0.2, 0.3, 0.4, 10, 10.1, 10.2, 10.3, 20, 20.1}, nil},
		"ten times a second":             {[]float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 1, 1.1, 1.4, 1.5}, []int{11}},
		"four calls in exactly a period": {[]float64{0, 3, 6, 10, 13, 16, 20}, nil},
	} {
		var p Pace
		var got []int
		for i, at := range c.calls {
			if p.Called("n", 10*time.Second, clock.Instant(time.Duration(at*float64(time.Second)))) {
				got = append(got, i)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.reject) {
			t.Errorf("%s: got %v, want %v", what, got, c.reject)
		}
	}
}

// A run that does not count is called again on purpose. Names do not disturb each other, and do
// not grow without end.
func TestPaceOfNames(t *testing.T) {
	var p Pace
	for i := range 20 {
		now := clock.Instant(time.Duration(i) * time.Second)
		if p.Called("retried", 10*time.Second, now) {
			t.Errorf("call %d: got too many, want none: each run did not count", i)
		}
		p.Again("retried", now)
	}
	for i := range 100 * paceNames {
		if p.Called(fmt.Sprint(i), time.Hour, clock.Instant(time.Duration(i)*time.Second)) {
			t.Errorf("name %d: got too many, want none", i)
		}
	}
	if got := p.names.Len(); got > 2*paceNames {
		t.Errorf("got %d names, want at most %d", got, 2*paceNames)
	}
}
