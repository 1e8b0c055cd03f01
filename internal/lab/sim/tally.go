// Package sim runs the real client code and the real scripts, in the embedded
// store, through simulated time and a network that does what networks do. It
// stands inside a testing/synctest bubble: a minute of faults takes
// milliseconds, and a seed repeats its history.
//
// All but what stories count is in test files: TestStories plays them, and simulate
// runs that test in many processes.
package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Tally counts what happened in stories: so it is seen that faults and steps were
// there at all. All methods may be called side by side.
type Tally struct {
	Stories    int            `json:"stories"`
	Operations map[string]int `json:"operations"` // what callers did, and how it ended
	Faults     map[string]int `json:"faults"`     // by kind
	Steps      map[string]int `json:"steps"`      // "kind: fate" of what travelled
	States     map[string]int `json:"states"`     // what clients told of themselves
	Violations []string       `json:"violations"` // story and promise

	mu sync.Mutex
}

func (t *Tally) count(m *map[string]int, what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[what] += n
}

// Operation counts what a caller did.
func (t *Tally) Operation(what string) { t.count(&t.Operations, what, 1) }

// Fault counts one that happened.
func (t *Tally) Fault(what string) { t.count(&t.Faults, what, 1) }

// State counts one that a client reached.
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

// Broke notes a story that broke promises.
func (t *Tally) Broke(story string, broken []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range broken {
		t.Violations = append(t.Violations, story+": "+b)
	}
}

// Add adds what another has counted, which is not in use any more.
func (t *Tally) Add(other *Tally) {
	for _, m := range []struct{ to, from *map[string]int }{
		{&t.Operations, &other.Operations}, {&t.Faults, &other.Faults}, {&t.Steps, &other.Steps}, {&t.States, &other.States},
	} {
		for what, n := range *m.from {
			t.count(m.to, what, n)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Stories += other.Stories
	t.Violations = append(t.Violations, other.Violations...)
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
	fmt.Fprintf(&b, "%d stories, %d broken promises\n", t.Stories, len(t.Violations))
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
