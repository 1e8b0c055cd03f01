//go:build linux

package faults_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults"
)

// Tokens are unique and the fence holds when the servers' clocks jump or drift. If no clock jumps
// forward, no promise is broken.
func TestClocks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	report := faults.Run(t, faults.Plan{
		Scenarios: faults.Scenarios(regexp.MustCompile(`^clocked(-quorum)?/`)), Seed: uint64(time.Now().UnixNano()) >> 12,
		Parallel: 2, Slack: *slack, Failures: filepath.Join(*failures, "clocks"),
	})
	report.Table(t.Output())
	for _, broken := range report.Broken {
		t.Errorf("the harness: %s", broken)
	}
	for _, f := range report.Found {
		t.Errorf("%s, seed %d: got %v, want no promise broken; see %s, and replay with\n\t%s", f.Scenario, f.Seed, f.Violations[0], f.Directory, f.Replay)
	}
}
