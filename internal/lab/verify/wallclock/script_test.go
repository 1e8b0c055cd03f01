//go:build linux

package wallclock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/internal/lab/verify/wallclock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// slowly is a script that works for half a second between its first look at the
// clock and the rest.
func slowly(t *testing.T, s *script.Script) string {
	t.Helper()
	const clock = "local us = t[1] * 1000000 + t[2]\n"
	if strings.Count(s.Source, clock) != 1 {
		t.Fatalf("%s looks at the clock in another way", s.Name)
	}
	const work = "local n = 0\nfor i = 1, 1e7 do n = (n * 31 + i) % 1000003 end\n"
	return strings.Replace(s.Source, clock, clock+work, 1)
}

// A clock that steps back within a script does not leave L without an expiry, or
// without its kind: the name could never be locked again. Redis 7.0 counts an
// expiry from the time it is set, and what has expired by that of the script's
// beginning.
func TestStepWithinAScript(t *testing.T) {
	clock := wallclock.Start(t)
	s := redistest.Start(t, redistest.Options{Env: clock.Env()})
	ask := func(source, id string) string {
		return s.MustDo(t, "EVAL", source, 4, "L", "holdfast/fence:{L}", "holdfast/queue:{L}", "holdfast/holders:{L}",
			fmt.Sprintf("client.%s.1000.s1|o", id), 1, "wait", 0, "")
	}
	if got := ask(script.SharedLock.Source, "1"); !strings.HasPrefix(got, "granted") {
		t.Fatalf("got %q, want granted", got)
	}
	step := time.AfterFunc(100*time.Millisecond, func() { clock.Step(-10 * time.Second) })
	began := time.Now()
	got := ask(slowly(t, script.SharedLock), "2")
	if took := time.Since(began); took < 150*time.Millisecond || step.Stop() {
		t.Fatalf("the script took %v, want longer, for the clock to step within it", took)
	}
	if !strings.HasPrefix(got, "queued") {
		t.Errorf("got %q, want queued", got)
	}
	if kind := s.MustDo(t, "HGET", "L", "kind"); kind != "semaphore" {
		t.Errorf("kind of L: got %q, want semaphore", kind)
	}
	for key := range strings.Lines(s.MustDo(t, "KEYS", "*")) {
		key = strings.TrimSpace(key)
		if life := s.MustDo(t, "PTTL", key); strings.HasPrefix(life, "-") {
			t.Errorf("%s: PTTL: got %s, want an expiry", key, life)
		}
	}
}
