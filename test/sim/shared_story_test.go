package sim_test

import "testing"

// Every story of readers, writers and permits keeps the promises, too: the
// capacity is never exceeded, tokens are unique, a loss is known, nobody is
// overtaken where nothing is lost, and nothing stays behind.
func TestSharedStories(t *testing.T) { stories(t, "shared") }
