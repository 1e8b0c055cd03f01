package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// While something is held the loop looks five times a second. A Client that only waits, or
// has just given back what it had, lets the processor sleep.
func TestWaitingWakesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := Instant(time.Hour)
		s := NewSchedule()
		sleeps := func(about string, want time.Duration) {
			t.Helper()
			if got := time.Until(s.until); got != want {
				t.Errorf("%s: sleeps %v, want %v", about, got, want)
			}
		}
		s.Rest(now)
		sleeps("nothing to do", time.Hour)
		waits := &Timer{}
		s.Set(waits, now.Add(time.Minute), now)
		sleeps("waiting", slowTick)
		s.Held++
		s.Set(waits, now.Add(time.Minute), now)
		sleeps("granted", tick)
		now += Instant(30 * time.Second)
		s.Rest(now)
		sleeps("holding for long", tick)
		time.Sleep(tick / 2)
		s.Relax(now)
		sleeps("one of two given back", tick/2)
		s.Held--
		s.Relax(now)
		sleeps("waiting again", slowTick)
		s.Set(&Timer{}, now.Add(time.Second), now)
		sleeps("what is to be done sooner", time.Second)
		s.Set(&Timer{}, now.Add(2*time.Second), now)
		sleeps("what is to be done later", time.Second)
	})
}

// A suspend makes the loop sleep longer than it seems, also if calls follow each other so fast
// that none of them reads Go's clock. What is due soon afterwards is late by less than 1 ms.
func TestWakesInTimeAfterASuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, step := range []Instant{nowError / 4, nowError, Instant(time.Second)} {
			now := Instant(time.Hour)
			s := NewSchedule()
			var far, near Timer
			s.Set(&far, now.Add(time.Minute), now)
			s.Rest(now)
			for range 8 {
				now += step // Go's time stands still
				s.Set(&far, now.Add(time.Minute), now)
			}
			want := slowTick - time.Duration(nowError*5/4)
			s.Set(&near, now.Add(want), now)
			if got := time.Until(s.until); got != want {
				t.Errorf("after 8 suspends of %v: sleeps %v, want %v", time.Duration(step), got, want)
			}
			s.Close()
		}
	})
}

// Timers come due in the order of their times, each once, and not those that were stopped.
func TestTimersComeInOrder(t *testing.T) {
	s := NewSchedule()
	defer s.Close()
	var timers [7]Timer
	for i := range timers {
		s.Set(&timers[i], Instant(100-i), 0)
	}
	s.Set(&timers[0], 50, 0)  // earlier
	s.Set(&timers[6], 101, 0) // later
	s.Stop(&timers[3])
	s.Stop(&timers[3])
	if got := s.Due(49); got != nil {
		t.Errorf("due at 49: one that was set for %d", got.When())
	}
	for _, want := range []int{0, 5, 4, 2, 1, 6} {
		if got := s.Due(101); got != &timers[want] {
			t.Fatalf("the next is not timer %d", want)
		}
	}
	if s.Due(Never) != nil {
		t.Error("one came twice, or was stopped and came")
	}
	s.Set(&timers[3], 7, 0)
	if s.Due(7) != &timers[3] {
		t.Error("one that was stopped cannot be set again")
	}
}
