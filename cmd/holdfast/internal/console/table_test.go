package console

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// A wide character takes two columns of a terminal, a colour takes none: the second
// column of a table begins at the same place in each row.
func TestColumnsOfWideCharacters(t *testing.T) {
	var out strings.Builder
	painted := Screen{W: &out, Colour: true}
	PrintTable(painted, [][]string{
		{"NAME", "HOLDER"}, {"請求書:42", "|"}, {"🚀 deploy", "|"}, {"invoice:7", "|"}, {painted.Paint(Bad, "name"), "|"},
	})
	for line := range strings.Lines(out.String()) {
		before, _, found := strings.Cut(line, "|")
		if got, want := ansi.StringWidth(before), 11; found && got != want {
			t.Errorf("the second column of %q begins at %d, want %d", line, got, want)
		}
	}
}
