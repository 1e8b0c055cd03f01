package check_test

import (
	"flag"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

var (
	saved    = flag.String("history", "", "a saved history that TestSaved checks")
	savedTTL = flag.Duration("ttl", time.Second, "of that history")
	calm     = flag.Bool("calm", false, "nothing was done to its servers and its network")
	polled   = flag.Bool("polled", false, "it is of a quorum")
)

// What was saved of a failure can be checked again: -args -history FILE. Without
// one there is nothing to check.
func TestSaved(t *testing.T) {
	if *saved == "" {
		return
	}
	events, err := history.Merge(*saved)
	if err != nil {
		t.Fatal(err)
	}
	s, r := check.Read(events), check.Rules{TTL: *savedTTL, Slack: time.Second, Calm: *calm, Polled: *polled}
	found, undecided := check.Linear(s, r, time.Minute, nil)
	for _, v := range append(check.All(s, r), found...) {
		t.Error(v)
	}
	t.Logf("%d events, %d leases, %d names undecided", len(events), len(s.Leases), undecided)
}
