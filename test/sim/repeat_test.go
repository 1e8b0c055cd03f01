//go:build !race

package sim_test

import (
	"slices"
	"strings"
	"testing"
)

// A seed is played to the letter each time: else no failure could be seen again.
// What happens at one instant has no order. A machine that is busy may stop the
// one thread in between, and the play goes on otherwise: the longer it is, the likelier.
// So two plays of five have to begin with the same lines: were anything else by chance,
// no two would.
func TestSeedRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	const beginning = 400 // lines; the runs of a quorum have thousands
	oneThread(t)
	for _, c := range casts {
		n := uint64(3)
		for castOf(n).name != c.name || c.name != "quorum" && n%4 != 3 { // a wild one
			n++
		}
		seen := map[string]bool{}
		for range 5 {
			lines := strings.Split(perform(t, c, n, nil).history, "\n")
			if len(lines) < 50 {
				t.Fatalf("seed %d (%s): a history of %d lines", n, c.name, len(lines))
			}
			lines = inOrder(lines)
			history := strings.Join(lines[:min(beginning, len(lines))], "\n")
			if seen[history] {
				seen = nil
				break
			}
			seen[history] = true
		}
		if seen != nil {
			t.Errorf("seed %d (%s): five plays, and five histories", n, c.name)
		}
	}
}

// inOrder sorts the lines of each instant.
func inOrder(lines []string) []string {
	instant := func(line string) string {
		at, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		return at
	}
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && instant(lines[to]) == instant(lines[from]) {
			to++
		}
		slices.Sort(lines[from:to])
		from = to
	}
	return lines
}
