package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast"
)

// A wide character takes two columns of a terminal, a colour takes none: the second
// column of a table begins at the same place in each row.
func TestColumnsOfWideCharacters(t *testing.T) {
	var out strings.Builder
	painted := screen{w: &out, colour: true}
	printColumns(painted, [][]string{
		{"NAME", "HOLDER"}, {"請求書:42", "|"}, {"🚀 deploy", "|"}, {"invoice:7", "|"}, {painted.paint(bad, "name"), "|"},
	})
	for line := range strings.Lines(out.String()) {
		before, _, found := strings.Cut(line, "|")
		if got, want := ansi.StringWidth(before), 11; found && got != want {
			t.Errorf("the second column of %q begins at %d, want %d", line, got, want)
		}
	}
}

// PROBLEM is red where colours are shown, and plain elsewhere.
func TestProblemHasColour(t *testing.T) {
	stuck := &view{
		State:   &holdfast.State{Name: "stuck", Kind: holdfast.KindMutex, Holder: &holdfast.Holder{Foreign: true, Remaining: -1}},
		reasons: []holdfast.Diagnosis{{Code: holdfast.CodeNoTTL}},
	}
	for colour, want := range map[bool]string{true: "\x1b[31mno-ttl\x1b[0m", false: "  no-ttl"} {
		var out strings.Builder
		printStates(screen{w: &out, colour: colour}, []*view{stuck})
		if got := out.String(); !strings.Contains(got, want) || !colour && strings.Contains(got, "\x1b") {
			t.Errorf("with colours %t: got %q, want it to have %q", colour, got, want)
		}
	}
}

// A warning of doctor is yellow, a failure red.
func TestDoctorHasColours(t *testing.T) {
	checks := []holdfast.Check{{Name: "memory", State: holdfast.CheckWarn}, {Name: "role", State: holdfast.CheckFail}}
	for colour, want := range map[bool]string{true: "\x1b[33mWARN   \x1b[0m", false: "WARN     memory"} {
		var out strings.Builder
		printChecks(screen{w: &out, colour: colour}, checks)
		if got := out.String(); !strings.Contains(got, want) || colour && !strings.Contains(got, "\x1b[31mFAIL") {
			t.Errorf("with colours %t: got %q, want it to have %q", colour, got, want)
		}
	}
}
