//go:build linux

package wallclock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/faults/wallclock"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// waiting is a script that goes on, after its first look at the clock, when that
// has stepped back.
func waiting(t *testing.T, s *driver.Script) string {
	t.Helper()
	const clock = "local us = t[1] * 1000000 + t[2]\n"
	if strings.Count(s.Source, clock) != 1 {
		t.Fatalf("%s looks at the clock in another way", s.Name)
	}
	const wait = "for i = 1, 1e7 do if redis.call('TIME')[1] + 5 < tonumber(t[1]) then break end end\n"
	return strings.Replace(s.Source, clock, clock+wait, 1)
}

// stepping runs a script on the keys of the name L while the clock steps back, again
// and again, so that it does after the script has begun.
func stepping(t *testing.T, s *redistest.Server, clock *wallclock.Clock, back time.Duration, lua *driver.Script, args ...any) string {
	t.Helper()
	steps, over := time.NewTicker(20*time.Millisecond), make(chan struct{})
	defer steps.Stop()
	go func() {
		for {
			select {
			case <-steps.C:
				clock.Step(-back)
			case <-over:
				return
			}
		}
	}()
	got := s.MustDo(t, append([]any{"EVAL", waiting(t, lua), 4}, append(keys, args...)...)...)
	close(over)
	return got
}

var keys = []any{"L", "holdfast/fence:{L}", "holdfast/queue:{L}", "holdfast/holders:{L}"}

// A clock that steps back within a script does not leave L without an expiry, or
// without its kind: the name could never be locked again. Redis 7.0 counts an
// expiry from the time it is set, and what has expired by that of the script's
// beginning.
func TestStepWithinAScript(t *testing.T) {
	clock := wallclock.Start(t)
	s := redistest.Start(t, redistest.Options{Env: clock.Env()})
	first := append([]any{"EVAL", script.SharedLock.Source, 4}, keys...)
	if got := s.MustDo(t, append(first, "client.1.1000.s1|o", 1, "wait", 0, "")...); !strings.HasPrefix(got, "granted") {
		t.Fatalf("got %q, want granted", got)
	}
	got := stepping(t, s, clock, 10*time.Second, script.SharedLock, "client.2.1000.s1|o", 1, "wait", 0, "")
	if !strings.HasPrefix(got, "queued") {
		t.Errorf("got %q, want queued", got)
	}
	if kind := s.MustDo(t, "HGET", "L", "kind"); kind != "semaphore" {
		t.Errorf("kind of the lock key: got %q, want semaphore", kind)
	}
	for key := range strings.Lines(s.MustDo(t, "KEYS", "*")) {
		key = strings.TrimSpace(key)
		if life := s.MustDo(t, "PTTL", key); strings.HasPrefix(life, "-") {
			t.Errorf("%s: PTTL: got %s, want an expiry", key, life)
		}
	}
}

// A step by more than a queue lives, within a script, is the end of the queue, and of
// who was put into it just now. It is told that it is the head, so it asks again
// when the holder's time is over.
func TestStepLongerThanAQueueLives(t *testing.T) {
	ask := []any{"client.2.1000|o", "wait", "1700000000000000"} // again: with the arrival it had
	for _, c := range []struct {
		lua           *driver.Script
		first, second []any
	}{
		{script.Lock, []any{"client.1.1000|o"}, ask},
		{script.SharedLock, []any{"client.1.1000.s1|o", 1, "wait", 0, ""}, []any{"client.2.1000.s1|o", 1, "wait", 0, ""}},
		{script.Cooldown, nil, []any{"client.1.1000|o", 1000, "o", "", "client.2.1000|o"}},
	} {
		t.Run(c.lua.Name, func(t *testing.T) {
			t.Parallel()
			clock := wallclock.Start(t)
			s := redistest.Start(t, redistest.Options{Env: clock.Env()})
			if c.first == nil {
				s.MustDo(t, "SET", "L", c.second[0], "PX", 10_000)
			} else if got := s.MustDo(t, append(append([]any{"EVAL", c.lua.Source, 4}, keys...), c.first...)...); !strings.HasPrefix(got, "granted") {
				t.Fatalf("got %q, want granted", got)
			}
			got := stepping(t, s, clock, time.Hour, c.lua, c.second...)
			if answer := strings.Fields(got); len(answer) < 3 || answer[0] != "queued" || answer[2] != "0" {
				t.Errorf("got %q, want queued at place 0", got)
			}
			if in := s.MustDo(t, "EXISTS", "holdfast/queue:{L}"); in != "0" {
				t.Errorf("the line lives on: the clock did not step as it should")
			}
		})
	}
}
