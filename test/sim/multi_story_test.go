package sim_test

import "testing"

// The stories of TestStories keep the promises also when half of the calls ask for
// three names at once, each in an order of its own: no name is held twice, tokens
// rise, nobody waits for ever, nothing is left.
func TestMultiStories(t *testing.T) { stories(t, "several") }
