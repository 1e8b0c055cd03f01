//go:build linux

package faults_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/faults"
)

// A scenario that this machine can't play is named, with the reason: none is missing
// in silence.
func TestNoneIsMissing(t *testing.T) {
	all := regexp.MustCompile("^netns")
	played := map[string]bool{}
	for _, c := range faults.Scenarios(all) {
		played[c.String()] = true
	}
	left := faults.LeftOut(all)
	for _, scenario := range []string{"netns/none", "netns/link-down", "netns/line-slow", "netns-quorum/links-at-random"} {
		reason := ""
		for why, scenarios := range left {
			if slices.Contains(scenarios, scenario) {
				reason = why
			}
		}
		if played[scenario] == (reason != "") {
			t.Errorf("%s is played: %v; left out because of %q; want one of them", scenario, played[scenario], reason)
		}
		if reason != "" && !strings.Contains(reason, "not allowed here") {
			t.Errorf("%s is left out because of %q, want it to say what is not allowed here", scenario, reason)
		}
	}
}
