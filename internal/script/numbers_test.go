package script

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rawNumber is a number of two digits or more that is no index of a list.
var rawNumber = regexp.MustCompile(`(?:^|[^\w\[.%])(\d{2,})\b`)

// units are the numbers that are their own names: what converts seconds, milliseconds and
// microseconds, and the fields of an entry of the journal.
var units = []string{"1000", "1000000", "10"}

// Go and Lua must mean the same by a number, so a script names it, and its value stands in
// one place.
func TestNumbersHaveNames(t *testing.T) {
	names, err := fs.Glob(files, "*/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(line, "--")
			for _, m := range rawNumber.FindAllStringSubmatch(code, -1) {
				if !slices.Contains(units, m[1]) {
					t.Errorf("%s has a raw %s: give it a name in internal/script/numbers.go and write {{name}}, in %s", name, m[1], strings.TrimSpace(line))
				}
			}
			for _, m := range numberName.FindAllStringSubmatch(code, -1) {
				used[m[1]] = true // an unknown one has panicked by now
			}
		}
	}
	for name := range numbers {
		if !used[name] {
			t.Errorf("internal/script/numbers.go has %s, which no script names", name)
		}
	}
}
