package holdfast

import (
	"testing"
	"time"
)

// While something is held the loop looks five times a second; who only waits lets the
// processor sleep.
func TestWaitingWakesSeldom(t *testing.T) {
	s := newSchedule()
	s.set(&timer{index: -1}, instant(time.Minute))
	sleeps := func(about string, now instant, want time.Duration) {
		t.Helper()
		if got := s.next(now); got != want {
			t.Errorf("%s: sleeps %v, want %v", about, got, want)
		}
	}
	sleeps("waiting", 0, slowTick)
	s.hold(1)
	select {
	case <-s.kick:
	default:
		t.Error("the loop sleeps on when something is held")
	}
	sleeps("holding", 1, tick)
	sleeps("holding for long", instant(30*time.Second), tick)
	s.held--
	sleeps("waiting again", instant(30*time.Second), slowTick)
}

// Who locks again and again does not wake the loop each time.
func TestLocksInARowDoNotWakeTheLoop(t *testing.T) {
	s := newSchedule()
	s.set(&timer{index: -1}, instant(time.Minute))
	s.next(0)
	s.hold(1)
	<-s.kick
	s.held--
	s.next(2)
	s.hold(3)
	select {
	case <-s.kick:
		t.Error("the loop was woken once more")
	default:
	}
}
