package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// All workloads are measured, and a version is about as fast as itself.
func TestCompare(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "rounds")
	if out, err := exec.Command("go", "build", "-o", binary, "./rounds").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	table, err := measure(t.Context(), []string{binary, binary, binary}, workloads, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	table.print(&text, "HEAD")
	t.Log("\n" + text.String())
	for _, w := range workloads {
		if !strings.Contains(text.String(), w) {
			t.Errorf("no row of %q", w)
		}
		if got, _ := ratio(table[w][2], table[w][0]); got < 0.25 || got > 4 {
			t.Errorf("%s: takes %.2f times as long as itself", w, got)
		}
		if costs := slices.Concat(table[w]...); slices.ContainsFunc(costs, func(c cost) bool { return c.ns < 10 || c.mallocs < 1 }) {
			t.Errorf("%s: costs %v", w, costs)
		}
	}
}

func TestRatio(t *testing.T) {
	of := []cost{{ns: 11}, {ns: 10}, {ns: 30}, {ns: 12}}
	to := []cost{{ns: 10}, {ns: 10}, {ns: 10}, {ns: 10}}
	if got, spread := ratio(of, to); got < 1.14 || got > 1.16 || spread < 0.04 || spread > 0.05 {
		t.Errorf("got %v ± %v", got, spread)
	}
}
