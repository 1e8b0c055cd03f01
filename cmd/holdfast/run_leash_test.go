package main

import (
	"testing"
	"time"
)

func TestLeash(t *testing.T) {
	const now = instant(1e15)
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
		end := now.add(test.left)
		want := leash{end.add(-test.term), end.add(-test.kill), end.add(-test.extra)}
		if got := newLeash(now, test.left, test.grace); got != want {
			t.Errorf("%s: got %v before the end, want %v", test.name,
				[]time.Duration{end.sub(got.term), end.sub(got.kill), end.sub(got.last)},
				[]time.Duration{test.term, test.kill, test.extra})
		}
	}
}

// A leash that is cut never gets longer, in any of its three.
func TestLeashCut(t *testing.T) {
	l := leash{term: 100, kill: 200, last: 250}
	if got, want := l.cut(150), (leash{100, 150, 200}); got != want {
		t.Errorf("cut to 150: got %v, want %v", got, want)
	}
	if got, want := l.cut(50), (leash{50, 50, 100}); got != want {
		t.Errorf("cut to 50: got %v, want %v", got, want)
	}
	if got, want := l.cut(300), l; got != want {
		t.Errorf("cut to 300: got %v, want %v", got, want)
	}
}
