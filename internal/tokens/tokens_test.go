package tokens_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/tokens"
	"github.com/holdfast-go/holdfast/internal/wire"
)

func TestTokensOnlyRise(t *testing.T) {
	var b tokens.Blocks
	if _, ok := b.Take(); ok {
		t.Fatal("a token out of nothing")
	}
	b.Add(100, 2)
	b.Add(50, 10) // an older block, heard of late
	b.Add(200, 1)
	for _, want := range []int64{100, 101, 200} {
		if got, ok := b.Take(); !ok || got != want {
			t.Fatalf("take: got %d %v, want %d", got, ok, want)
		}
	}
	b.Add(190, 5)
	if got, ok := b.Take(); ok && got <= 200 {
		t.Fatalf("take: got %d after 200", got)
	}
}

func TestWanted(t *testing.T) {
	var b tokens.Blocks
	want := func(about string, want int64) {
		t.Helper()
		if got := b.Wanted(); got != want {
			t.Errorf("%s: wants %d, want %d", about, got, want)
		}
	}
	want("none", wire.MaxTokenBlock)
	b.Add(1, 64)
	want("a whole block", 0)
	for range 32 {
		b.Take()
	}
	want("half of it", wire.MaxTokenBlock)
	b.Add(1000, 128)
	want("a spare one", 0)
	b.Add(5000, 1<<40) // a third has no room
	for range 32 + 63 {
		b.Take()
	}
	want("more than half of the spare one", 0)
	b.Take()
	want("half of the spare one", wire.MaxTokenBlock)
}

func TestLast(t *testing.T) {
	var b tokens.Blocks
	b.Add(7, 2)
	for _, want := range []int64{7, 8} {
		if got, ok := b.Take(); !ok || got != want {
			t.Errorf("got %d %v, want %d", got, ok, want)
		}
	}
	b.Reserved(100, 64)
	b.Reserved(10, 64) // heard of late
	if got := b.Last(); got != 163 {
		t.Errorf("got %d, want 163", got)
	}
}
