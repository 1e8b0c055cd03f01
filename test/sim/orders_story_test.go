package sim_test

import "testing"

// The stories of TestStories keep the promises also when holders are revoked and
// stolen from, and export their leases to one another.
func TestOrderStories(t *testing.T) { stories(t, "orders") }
