package holdfast

import (
	"testing"
	"time"
)

// While something is held the loop looks five times a second; who only waits lets the
// processor sleep.
func TestWaitingWakesSeldom(t *testing.T) {
	now := instant(time.Hour)
	s := newSchedule(newClock(func() time.Duration { return time.Duration(now) }))
	s.set(&timer{index: -1}, now.add(time.Minute))
	sleeps := func(about string, want time.Duration) {
		t.Helper()
		if got := s.wakes.sub(now); got != want {
			t.Errorf("%s: sleeps %v, want %v", about, got, want)
		}
	}
	s.rest(now)
	sleeps("waiting", slowTick)
	s.hold(now)
	sleeps("granted", tick)
	now += instant(30 * time.Second)
	s.rest(now)
	sleeps("holding for long", tick)
	s.held--
	s.rest(now)
	sleeps("waiting again", slowTick)
}
