// Package sim runs the real client code and the real scripts, in the embedded
// store, through simulated time and a network that does what networks do. It
// stands inside a testing/synctest bubble: a minute of faults takes
// milliseconds, and a seed repeats its history.
//
// All but what runs count is in test files: TestRandomRuns plays them, and simulate
// runs that test in many processes.
package sim

import "sync"

// Tally counts what happened in runs: so it is seen that faults and steps were
// there at all. All methods may be called side by side. Those that runs call stand
// in harness_tally_test.go.
type Tally struct {
	Runs       int            `json:"runs"`
	Operations map[string]int `json:"operations"` // what callers did, and how it ended
	Faults     map[string]int `json:"faults"`     // by kind
	Steps      map[string]int `json:"steps"`      // "kind: fate" of what travelled
	States     map[string]int `json:"states"`     // what clients told of themselves
	Violations []string       `json:"violations"` // run and promise

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

// Broke notes a run that broke promises.
func (t *Tally) Broke(run string, broken []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range broken {
		t.Violations = append(t.Violations, run+": "+b)
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
	t.Runs += other.Runs
	t.Violations = append(t.Violations, other.Violations...)
}
