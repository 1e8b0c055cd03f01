package holdfast

import (
	"testing"
	"time"
)

// While something is held the loop looks five times a second; who only waits lets the
// processor sleep.
func TestWaitingWakesSeldom(t *testing.T) {
	now := instant(time.Hour)
	s := newSchedule()
	s.set(&timer{index: -1}, now.add(time.Minute), now)
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

// Whatever is held is counted, and nothing else.
func TestWhatIsHeldIsCounted(t *testing.T) {
	c := &core{past: memory{limit: 9}, given: memory{limit: 9}, tenures: map[string]*tenure{}, rested: map[string]instant{}}
	held := func(about string, want int) {
		t.Helper()
		if got := c.schedule.held; got != want {
			t.Errorf("%s: %d are held, want %d", about, got, want)
		}
	}
	tenure := func(id string, p phase) *tenure {
		t := &tenure{id: id, phase: p, line: &line{c: c}}
		if p == holding {
			c.schedule.held++
		}
		return t
	}
	first, second, third := tenure("1", holding), tenure("2", holding), tenure("3", queued)
	first.become(leaving)
	held("one is leaving", 1)
	c.end(first, 0)
	held("it has left", 1)
	c.end(third, 0)
	held("one that waited gave up", 1)
	c.end(second, 0)
	held("the other was lost", 0)
}
