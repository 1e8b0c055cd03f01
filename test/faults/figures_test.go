package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The figures in README and docs/verification.md are those of docs/verification/latest.json.
func TestFiguresAreThoseOfTheJSON(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var l struct {
		Verify     struct{ Histories, Operations, Grants, Faults, Violations int }
		Simulation struct{ Runs, Operations int }
		Models     []struct{ States int }
		Soak       struct{ Granted, Faults int }
		Mutations  struct{ Tried, Caught int }
	}
	if err := json.Unmarshal([]byte(read("docs/verification/latest.json")), &l); err != nil {
		t.Fatal(err)
	}
	states := 0
	for _, m := range l.Models {
		states += m.States
	}
	v, s := l.Verify, l.Simulation
	for page, figures := range map[string][]string{
		"README.md": {
			fmt.Sprintf("%s histories, %s faults: %d promises broken", thousands(v.Histories), thousands(v.Faults), v.Violations),
			fmt.Sprintf("%s runs, %s operations", thousands(s.Runs), thousands(s.Operations)),
			fmt.Sprintf("%s states", thousands(states)),
			fmt.Sprintf("%d of %d noticed", l.Mutations.Caught, l.Mutations.Tried),
			fmt.Sprintf("%s locks, %s faults", thousands(l.Soak.Granted), thousands(l.Soak.Faults)),
		},
		"docs/verification.md": {
			fmt.Sprintf("%s attempts to lock, %s leases, %s faults, **%d promises broken**", thousands(v.Operations), thousands(v.Grants), thousands(v.Faults), v.Violations),
			fmt.Sprintf("%s random runs, %s operations", thousands(s.Runs), thousands(s.Operations)),
			fmt.Sprintf("%s locks granted", thousands(l.Soak.Granted)),
			fmt.Sprintf("%s mutations, each made alone: **%s caught**", thousands(l.Mutations.Tried), thousands(l.Mutations.Caught)),
		},
	} {
		text := read(page)
		for _, want := range figures {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q, as docs/verification/latest.json does", page, want)
			}
		}
	}
}

// thousands is 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
