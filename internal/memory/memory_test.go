package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/memory"
)

func at(d time.Duration) clock.Instant { return clock.Instant(0).Add(d) }

func TestFor(t *testing.T) {
	m := memory.For[int]{Limit: 3}
	if m.Of("a") != 0 {
		t.Error("something is known from the start")
	}
	m.Add("a", 1, at(0), time.Minute)
	m.Add("b", 2, at(time.Second), time.Hour)
	if m.Of("a") != 1 || m.Of("b") != 2 {
		t.Error("what was added is not known")
	}
	m.Add("c", 3, at(time.Minute), time.Hour)
	if m.Of("a") != 0 || m.Of("b") != 2 {
		t.Error("what is over is still known, or another is not")
	}
	m.Add("d", 4, at(time.Minute), time.Hour)
	m.Add("e", 5, at(time.Minute), time.Hour)
	if m.Of("b") != 0 || m.Of("c") != 3 || m.Of("e") != 5 {
		t.Error("of four the oldest is to be forgotten")
	}
}

// Values that are used stay. Others are forgotten, and so are the oldest if there is no room.
func TestRecent(t *testing.T) {
	const limit = 100
	m := memory.Recent[*string]{Age: time.Minute, Limit: limit}
	of := func(key string, d time.Duration) *string {
		return m.Of(key, at(d), func() *string { return new(string) })
	}
	used, once := of("used", 0), of("once", 0)
	for d := time.Duration(0); d < 5*time.Minute; d += 20 * time.Second {
		if of("used", d) != used {
			t.Fatalf("what is in use is another after %v", d)
		}
	}
	if n := m.Len(); n != 2 {
		t.Errorf("%d are kept, want that which is used, twice", n)
	}
	if of("once", 5*time.Minute) == once {
		t.Error("what was not used for minutes is still there")
	}
	for i := range 3 * limit {
		of(fmt.Sprint(i), 5*time.Minute)
	}
	if n := m.Len(); n > 2*limit {
		t.Errorf("%d are kept, want %d at most", n, 2*limit)
	}
}

func TestBounded(t *testing.T) {
	m := memory.Bounded[string]{Limit: 2}
	for _, key := range []string{"a", "b"} {
		if _, full := m.Add(key, "of "+key); full {
			t.Fatalf("full with %s", key)
		}
	}
	m.Remove("b", "another")
	if m.Of("b") != "of b" {
		t.Error("removed by the value of another")
	}
	oldest, full := m.Add("c", "of c")
	if !full || oldest != "of a" {
		t.Fatalf("got %q, %v, want the oldest", oldest, full)
	}
	m.Remove("a", oldest)
	if m.Of("a") != "" || m.Of("c") != "of c" {
		t.Error("removed another than the oldest")
	}
	m.Remove("b", "of b")
	if _, full := m.Add("d", "of d"); full {
		t.Error("what was removed still counts")
	}
}
