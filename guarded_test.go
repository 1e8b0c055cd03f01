package holdfast

import (
	"fmt"
	"strings"
	"testing"
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
