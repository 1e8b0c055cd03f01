package holdfast

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/slot"
)

// A program that writes a script for each call does not fill its own memory.
func TestGuardedScriptsAreBounded(t *testing.T) {
	var g guardedScripts
	for i := range 10 * maxGuarded {
		source := fmt.Sprintf("return %d", i)
		if got, again := g.script(source), g.script(source); got != again || !strings.HasSuffix(got.Source, source) {
			t.Fatalf("script %d: got %q, then %q", i, got.Source, again.Source)
		}
		if n := len(g.known); n > maxGuarded {
			t.Fatalf("%d scripts are remembered, want %d at most", n, maxGuarded)
		}
	}
	for i := range 64 {
		g.script(strings.Repeat("-", maxGuardedSize/16) + fmt.Sprint(i))
		if g.size > maxGuardedSize {
			t.Fatalf("sources of %d bytes are remembered, want %d at most", g.size, maxGuardedSize)
		}
	}
}

// The slots of keys are those of the specification, whatever braces they have.
func TestSlots(t *testing.T) {
	for _, key := range []string{"", "a", "123456789", "{a}b", "b{a}", "{}a", "{a", "a}", "a{}{b}", "{{a}}", "x{y}z{w}"} {
		if got, want := slot.Of(key), int(slotOf(key)); got != want {
			t.Errorf("slot of %q: got %d, want %d", key, got, want)
		}
	}
	if got, want := slot.Of("123456789"), 0x31c3; got != want {
		t.Errorf("slot of the example of the specification: got %d, want %d", got, want)
	}
}
