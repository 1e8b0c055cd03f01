package doctor

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// A warning of doctor is yellow, a failure red.
func TestDoctorHasColours(t *testing.T) {
	checks := []doctor.Result{{Name: "memory", State: doctor.Warn}, {Name: "role", State: doctor.Fail}}
	for colour, want := range map[bool]string{true: "\x1b[33mWARN   \x1b[0m", false: "WARN     memory"} {
		var out strings.Builder
		printChecks(console.Screen{W: &out, Colour: colour}, checks)
		if got := out.String(); !strings.Contains(got, want) || colour && !strings.Contains(got, "\x1b[31mFAIL") {
			t.Errorf("with colours %t: got %q, want it to have %q", colour, got, want)
		}
	}
}
