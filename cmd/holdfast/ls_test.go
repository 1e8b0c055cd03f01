package main

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
)

// PROBLEM is red where colours are shown, and plain elsewhere.
func TestProblemHasColour(t *testing.T) {
	stuck := &View{
		State:   &holdfast.State{Name: "stuck", Kind: holdfast.KindMutex, Holder: &holdfast.Holder{Foreign: true, Remaining: -1}},
		reasons: []holdfast.Diagnosis{{Code: holdfast.CodeNoTTL}},
	}
	for colour, want := range map[bool]string{true: "\x1b[31mno-ttl\x1b[0m", false: "  no-ttl"} {
		var out strings.Builder
		printStates(screen{w: &out, colour: colour}, []*View{stuck})
		if got := out.String(); !strings.Contains(got, want) || !colour && strings.Contains(got, "\x1b") {
			t.Errorf("with colours %t: got %q, want it to have %q", colour, got, want)
		}
	}
}
