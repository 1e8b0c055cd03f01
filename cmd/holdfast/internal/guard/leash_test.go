package guard

import (
	"testing"
	"time"
)

func TestLeash(t *testing.T) {
	const now = Instant(1e15)
	for _, test := range []struct {
		name              string
		left, grace       time.Duration
		term, kill, extra time.Duration // kill and last before the end
	}{
		{"default", 15 * time.Second, 3750 * time.Millisecond, 3850 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond},
		{"a pushed grant", 2 * time.Second, 10 * time.Second, 2*time.Second/3 + 100*time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond},
		{"short", 100 * time.Millisecond, 25 * time.Millisecond, 35 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond},
		{"no grace", time.Minute, 0, 100 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond},
		{"over", 0, time.Second, 0, 0, 0},
	} {
		end := now.Add(test.left)
		want := Leash{end.Add(-test.term), end.Add(-test.kill), end.Add(-test.extra)}
		if got := NewLeash(now, test.left, test.grace); got != want {
			t.Errorf("%s: got %v before the end, want %v", test.name,
				[]time.Duration{end.Sub(got.term), end.Sub(got.Kill), end.Sub(got.Last)},
				[]time.Duration{test.term, test.kill, test.extra})
		}
	}
}

// A leash that is cut never gets longer, in any of its three.
func TestLeashCut(t *testing.T) {
	l := Leash{term: 100, Kill: 200, Last: 250}
	if got, want := l.Cut(150), (Leash{100, 150, 200}); got != want {
		t.Errorf("cut to 150: got %v, want %v", got, want)
	}
	if got, want := l.Cut(50), (Leash{50, 50, 100}); got != want {
		t.Errorf("cut to 50: got %v, want %v", got, want)
	}
	if got, want := l.Cut(300), l; got != want {
		t.Errorf("cut to 300: got %v, want %v", got, want)
	}
}
