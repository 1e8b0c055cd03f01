package sim_test

import "testing"

// Every random run keeps the promises S1, S2, S3, L1 and L2. See the flags for one
// run, or all.
func TestRandomRuns(t *testing.T) { randomRuns(t, "mutex") }

// So does every run of readers, writers and permits: the holders fit together at every
// moment.
func TestSharedRandomRuns(t *testing.T) { randomRuns(t, "shared") }

// So does every run in which half of the calls ask for several names at once.
func TestMultiRandomRuns(t *testing.T) { randomRuns(t, "several") }

// So does every run in which holders are revoked and stolen from, and give their leases
// to one another.
func TestOrderRandomRuns(t *testing.T) { randomRuns(t, "orders") }

// So does every run in which all primitives take part, at names next to each other; no
// older token writes after a newer one, and a job does not run twice within its interval.
func TestMixedRandomRuns(t *testing.T) { randomRuns(t, "mixed") }
