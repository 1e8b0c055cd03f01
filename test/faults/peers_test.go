//go:build linux

package faults_test

import (
	"flag"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults"
	"github.com/holdfast-go/holdfast/test/faults/client"
)

var (
	peerMatch     = flag.String("peer", "", "regular expression: the locks that TestPeers compares")
	peerScenarios = flag.String("peer-scenario", "^standalone/(none|client-frozen/before-write)$", "regular expression: the scenarios of TestPeers; all: "+faults.PeerScenarios)
	peerHistories = flag.Int("peer-histories", 1, "histories of each peer in each scenario")
)

// Other locks are checked in the scenarios of holdfast, too. What holdfast promises it
// keeps there, and a process that is frozen between reading and writing undoes
// what others wrote where there is no token: the checkers see it.
func TestPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	match, err := regexp.Compile(*peerMatch)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := regexp.Compile(*peerScenarios)
	if err != nil {
		t.Fatal(err)
	}
	plan := faults.PeerPlan{
		Scenarios: faults.Scenarios(scenario), Seed: *seed, Histories: *peerHistories, Parallel: *parallel,
		Slack: *slack, Failures: filepath.Join(*failures, "peers"),
	}
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano()) >> 12
	}
	for _, p := range client.Peers {
		if match.MatchString(string(p)) {
			plan.Peers = append(plan.Peers, p)
		}
	}
	plan.Progress = func(o *faults.PeerOutcome) {
		t.Logf("%s in %v, seed %d: %d granted, %v", o.Peer, o.Scenario, o.Seed, o.Grants, o.Err)
		for promise, violations := range o.Checked {
			if len(violations) > 0 {
				t.Logf("    %s: %v", promise, violations[0])
			}
		}
	}
	report := faults.RunPeers(t, plan)
	report.Table(t.Output())
	faults.WriteFile(t, *result, report)
	for _, broken := range report.Broken {
		t.Errorf("the harness: %s", broken)
	}
	unfenced := 0
	for peer, row := range report.Rows {
		if j := row.Promises[faults.Fenced]; j != nil && peer != client.Holdfast {
			unfenced += j.Broken
		}
		if row.Grants == 0 {
			t.Errorf("%s: got no grant", peer)
		}
		if peer != client.Holdfast {
			continue
		}
		for promise, j := range row.Promises {
			if promise != faults.InTime && j.Broken > 0 { // that is a matter of time: see TestVerify
				t.Errorf("%s broke %s: %v", peer, promise, j.First)
			}
		}
	}
	if len(report.Rows) == len(client.Peers) && scenario.MatchString("standalone/client-frozen/before-write") && unfenced == 0 {
		t.Error("no lock without a token lost an update, want one: do the checkers see anything?")
	}
}
