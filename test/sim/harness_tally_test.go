package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Operation counts what a caller did.
func (t *Tally) Operation(what string) { t.count(&t.Operations, what, 1) }

// Fault counts a fault that happened.
func (t *Tally) Fault(what string) { t.count(&t.Faults, what, 1) }

// State counts a state that a client reached.
func (t *Tally) State(what string) { t.count(&t.States, what, 1) }

// Step counts something that travels, once under each word of its fate.
func (t *Tally) Step(kind string, words []string) {
	for _, word := range words {
		t.count(&t.Steps, kind+": "+word, 1)
		if word != onTime {
			t.Fault(word)
		}
	}
}

// Missing are those of the names that were counted nowhere.
func Missing(counted map[string]int, names []string) (missing []string) {
	for _, name := range names {
		if counted[name] == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

func (t *Tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d broken promises\n", t.Runs, len(t.Violations))
	for _, m := range []struct {
		title string
		of    map[string]int
	}{{"operations", t.Operations}, {"faults", t.Faults}, {"steps", t.Steps}, {"states", t.States}} {
		fmt.Fprintf(&b, "%s:\n", m.title)
		for _, what := range slices.Sorted(maps.Keys(m.of)) {
			fmt.Fprintf(&b, "%9d  %s\n", m.of[what], what)
		}
	}
	return b.String()
}

// onTime is the fate of a step to which nothing happened.
const onTime = "on time"
