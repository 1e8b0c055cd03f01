package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

func TestPushedStartIsNeverTooLate(t *testing.T) {
	ten := &Tenure{whileAsked: whileAsked{firstSent: clock.Instant(time.Second)}}
	now := clock.Instant(10 * time.Second)
	if got := ten.pushStart(0, 0, now); got != ten.firstSent {
		t.Errorf("without an answer: got %v, want the first request %v", got, ten.firstSent)
	}
	if got, want := ten.pushStart(0, clock.Instant(3*time.Second), now), clock.Instant(3*time.Second); got != want {
		t.Errorf("new subscription: got %v, want %v", got, want)
	}
	ten.clockPair = exchange{sent: clock.Instant(4 * time.Second), server: 1_000_000}
	if got, want := ten.pushStart(3_000_000, 0, now), clock.Instant(6*time.Second-20*time.Millisecond); got != want {
		t.Errorf("with a pair: got %v, want %v", got, want)
	}
	if got := ten.pushStart(100_000_000, 0, now); got != now {
		t.Errorf("a grant from the future: got %v, want now", got)
	}
}
