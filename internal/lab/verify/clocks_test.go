//go:build linux

package verify_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/verify"
)

// Whatever the servers' clocks do, tokens are unique and the fence holds; as long
// as no clock jumps forward, nothing that is promised is broken at all.
func TestClocks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	report := verify.Run(t, verify.Plan{
		Scenarios: verify.Scenarios(regexp.MustCompile(`^clocked(-quorum)?/`)), Seed: uint64(time.Now().UnixNano()) >> 12,
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
