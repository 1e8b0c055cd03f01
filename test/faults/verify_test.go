//go:build linux

package faults_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults"
	"github.com/holdfast-go/holdfast/test/faults/workers"
)

var (
	lasting   = flag.Duration("for", time.Minute, "how long TestVerify begins histories; 0: each scenario once")
	seed      = flag.Uint64("seed", 0, "of the histories; 0: by the clock")
	scenarios = flag.String("scenario", "^(standalone|aof|quorum3)/", "regular expression: the scenarios, topology/fault or topology/fault/step")
	histories = flag.Int("histories", 0, "at most so many; 0: no limit. One history of one scenario replays the seed")
	parallel  = flag.Int("parallel-histories", 3, "histories side by side")
	length    = flag.Duration("length", 0, "of the part of a history in which faults hit, about; 0: 3 s")
	slack     = flag.Duration("slack", time.Second, "what the machine may add to times that are no matter of safety")
	failures  = flag.String("failures", filepath.Join(os.TempDir(), "holdfast-verify"), "directory for histories that break a promise")
	result    = flag.String("result", "", "file for the result as JSON")
)

func TestMain(m *testing.M) {
	if workers.Play() {
		return
	}
	os.Exit(m.Run())
}

// command plays the same again.
func command() string {
	text := "go test -run '^TestVerify$' -timeout " + flag.Lookup("test.timeout").Value.String() + " ./test/faults -args"
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && f.Name != "failures" && f.Name != "result" {
			value := f.Value.String()
			if strings.ContainsAny(value, "^$|()[]*? ") {
				value = "'" + value + "'"
			}
			text += fmt.Sprintf(" -%s %s", f.Name, value)
		}
	})
	return text
}

// Faults of clients, servers and network break no promise of holdfast in what the processes saw.
func TestVerify(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	match, err := regexp.Compile(*scenarios)
	if err != nil {
		t.Fatal(err)
	}
	plan := faults.Plan{
		Scenarios: faults.Scenarios(match), Seed: *seed, For: *lasting, Histories: *histories,
		Parallel: *parallel, Length: *length, Slack: *slack, Failures: *failures, LeftOut: faults.LeftOut(match), Command: command(),
	}
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano()) >> 12
	}
	if *histories > 0 {
		plan.For = 0
	}
	if len(plan.Scenarios) == 0 {
		t.Fatalf("no scenario matches %s; not played here: %v", *scenarios, plan.LeftOut)
	}
	t.Logf("seed %d, %d scenarios", plan.Seed, len(plan.Scenarios))
	began := time.Now()
	plan.Progress = func(o faults.Outcome, r *faults.Report) {
		t.Logf("%4.0fs %v seed %d: %d operations, %d faults, %d violations; so far %d histories, %d operations, %d faults, %d violations",
			time.Since(began).Seconds(), o.Scenario, o.Seed, o.Operations, o.Faults, len(o.Violations), r.Histories, r.Operations, r.Faults, r.Violations)
	}
	report := faults.Run(t, plan)
	report.Table(t.Output())
	faults.WriteFile(t, *result, report)
	for _, broken := range report.Broken {
		t.Errorf("the harness: %s", broken)
	}
	for _, f := range report.Found {
		t.Errorf("%s, seed %d: %d promises broken; see %s, and replay with\n\t%s", f.Scenario, f.Seed, len(f.Violations), f.Directory, f.Replay)
		for _, v := range f.Violations[:min(3, len(f.Violations))] {
			t.Log(v)
		}
	}
	if most := oneIn1000(report.Ended); report.Ended >= 1000 && report.Moments > most {
		t.Errorf("%d of %d contexts came more than 20 ms after the deadline, at %d times, want %d at most", report.Late, report.Ended, report.Moments, most)
	}
}

// oneIn1000 is how many of n the rare case of 1 in 1,000 may be, with three standard
// deviations for chance (Poisson): in a short run two are no sign.
func oneIn1000(n int) int {
	mean := float64(n) / 1000
	return int(mean + 3*math.Sqrt(max(mean, 1)))
}
