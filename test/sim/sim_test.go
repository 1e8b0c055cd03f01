package sim_test

import "testing"

// Every story keeps the promises S1, S2, S3, L1 and L2. See the flags for one
// story, or all.
func TestStories(t *testing.T) { stories(t, "mutex") }

// Every story in which all primitives take part, at names next to each other,
// keeps them too; no older token writes after a newer one, and a job does not
// run twice within its interval.
func TestMixedStories(t *testing.T) { stories(t, "mixed") }
