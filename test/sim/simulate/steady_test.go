package main

import (
	"runtime"
	"strings"
	"testing"
)

// The edits fit the runtime of this Go: else -digest goes on without them.
func TestSteady(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), "go1.26") {
		t.Skipf("the edits were made for go1.26, this is %s", runtime.Version())
	}
	if _, err := steady(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Two versions are the same in a run if one play of each had the same hash.
func TestCompare(t *testing.T) {
	d := digests{against: t.TempDir() + "/before"}
	d.out = d.against
	if err := d.write(map[uint64][]string{1: {"a"}, 2: {"b", "c"}, 3: {"d"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.compare(map[uint64][]string{1: {"a"}, 2: {"x", "c"}, 4: {"e"}}); err != nil {
		t.Error(err)
	}
	if err := d.compare(map[uint64][]string{1: {"a"}, 3: {"x"}}); err == nil {
		t.Error("run 3 differs, and compare says nothing")
	}
}
