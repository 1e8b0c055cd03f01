package show

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
)

// PROBLEM is red where colours are shown, and plain elsewhere.
func TestProblemHasColour(t *testing.T) {
	stuck := &inspect.View{
		State:   &admin.State{Name: "stuck", Kind: holdfast.KindMutex, Holder: &admin.Holder{Foreign: true, Remaining: -1}},
		Reasons: []diagnose.Diagnosis{{Code: diagnose.NoTTL}},
	}
	for colour, want := range map[bool]string{true: "\x1b[31mno-ttl\x1b[0m", false: "  no-ttl"} {
		var out strings.Builder
		printStates(console.Screen{W: &out, Colour: colour}, []*inspect.View{stuck})
		if got := out.String(); !strings.Contains(got, want) || !colour && strings.Contains(got, "\x1b") {
			t.Errorf("with colours %t: got %q, want it to have %q", colour, got, want)
		}
	}
}
