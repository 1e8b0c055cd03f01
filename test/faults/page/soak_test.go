package main

import (
	"os"
	"strings"
	"testing"
)

// What the soak has written is kept, and the page says what grew.
func TestSoakIsShown(t *testing.T) {
	in(t)
	text := `{"seconds": 7200.4, "processes": 8, "clients": 200, "names": 2000, "seed": 1, "faults": {"cut": 1000, "stall": 234},
		"total": {"Asked": 5000, "Granted": 4321, "Lost": 5, "Overlaps": 0, "Failed": 0, "Goroutines": 0, "Heap": 0, "Error": ""},
		"trends": {"heap, bytes": {"begin": 1000000, "end": 1100000, "slope_per_hour": 12.5}}, "left_goroutines": 8, "left_keys": ["x"]}`
	if err := os.WriteFile("soak.json", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := update([]string{"-soak", "soak.json"}); err != nil {
		t.Fatal(err)
	}
	l, text := kept(t)
	if l.Soak.Granted != 4321 || l.of("soak")[0].Command != "make soak" {
		t.Errorf("kept %+v of %+v", l.Soak, l.Runs)
	}
	for _, want := range []string{
		"200 Clients in 8 processes, 2,000 names, 7200 s, 1,234 faults: 4,321 locks granted, 5 of them lost, **0 times two held a mutex**.",
		"Keys left at the end: 1", "\nheap, bytes | 1,000,000 | 1,100,000\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
