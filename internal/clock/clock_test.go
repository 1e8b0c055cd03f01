package clock

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// The margin: clocks that differ by 1 %, and nowError, must not let the holder's view
// outlive the key in Redis.
func TestDeadlineComesBeforeTheEnd(t *testing.T) {
	for _, ttl := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 15 * time.Second, 24 * time.Hour} {
		got := Deadline(0, ttl).Add(time.Duration(nowError))
		if slow := time.Duration(float64(got) * 1.0099); slow >= ttl {
			t.Errorf("ttl %v: a holder whose clock is 0.99 %% slow stops after %v", ttl, slow)
		}
	}
}

func TestAddStopsAtNever(t *testing.T) {
	for _, c := range []struct {
		at   Instant
		d    time.Duration
		want Instant
	}{
		{5, 3, 8}, {5, -8, -3}, {5, math.MaxInt64, Never}, {Never, 1, Never}, {Never - 1, 1, Never},
		{-7, math.MaxInt64, Never - 7}, {Never, -1, Never - 1},
	} {
		if got := c.at.Add(c.d); got != c.want {
			t.Errorf("%d.Add(%d) = %d, want %d", c.at, c.d, got, c.want)
		}
	}
}

// machine is two clocks of a machine: in a suspend only one of them runs.
type machine struct {
	running, suspended Instant
	readings           int // of the one that runs on
}

func (m *machine) clock() *Clock {
	c := &Clock{
		exact: func() Instant { m.readings++; return m.running + m.suspended },
		cheap: func() Instant { return m.running },
	}
	c.Exact()
	m.readings = 0
	return c
}

func TestNowIsCheapAndSeesASuspend(t *testing.T) {
	m := &machine{running: 5}
	c := m.clock()
	m.running += nowError
	if got := c.Now(); got != m.running || m.readings != 0 {
		t.Errorf("within a millisecond Now is %d after %d slow readings, want %d after none", got, m.readings, m.running)
	}
	m.suspended += Instant(time.Hour)
	if got, want := c.Exact(), m.running+m.suspended; got != want {
		t.Errorf("after a suspend Exact is %d, want %d", got, want)
	}
	m.suspended += Instant(time.Hour)
	m.running += nowError + 1
	if got, want := c.Now(), m.running+m.suspended; got != want {
		t.Errorf("a millisecond after a suspend Now is %d, want %d", got, want)
	}
}

func TestMachinesClockRuns(t *testing.T) {
	c := New(nil)
	before := c.Exact()
	time.Sleep(3 * time.Millisecond)
	now, after := c.Now(), c.Exact()
	if passed := now.Sub(before); passed < 2*time.Millisecond || now > after.Add(time.Duration(nowError)) {
		t.Errorf("slept 3 ms: %v have passed, and Now is %v ahead of Exact", passed, now.Sub(after))
	}
}

func TestSimulatedClock(t *testing.T) {
	at := 7 * time.Hour
	c := New(func() time.Duration { return at })
	at += time.Nanosecond
	if now, exact := c.Now(), c.Exact(); now != Instant(at) || exact != Instant(at) {
		t.Errorf("Now is %d and Exact %d, want %d: simulated time is read each time", now, exact, at)
	}
}

// The machine stores 0 for what has not happened.
func TestNoReadingIsZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if c := New(nil); c.Now() <= 0 || c.Exact() <= 0 {
			t.Errorf("got %v and %v, want more than 0", c.Now(), c.Exact())
		}
	})
}
