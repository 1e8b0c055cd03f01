package sim_test

import (
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/test/sim"
)

// What runs have to reach, each at least once: a fault or a step that none has
// is one that nothing is known of.
var (
	faults = []string{
		"server emptied", "server restarted", "clock put back", "key deleted", "scripts flushed", "subscriptions cut", "connections cut", "killed",
		"silence", "nothing out", "nothing in", "half-open", "paused", "replica frozen", "failover",
		"node frozen", "node restarted", "node emptied", "node's clock jumps",
	}
	everyFate = []string{ // of these each fate
		"lock", "unlock", "cancel", "renew", "cooldown", "inspect", "subscribe",
		"shared_lock", "shared_unlock", "shared_renew", "multi_lock",
	}
	someFate = []string{ // these are rare
		"revoke", "steal", "adopt", "election_leader", "election_announce", "once_begin", "once_end", "once_inspect", "eval",
		"quorum_lock", "quorum_unlock", "quorum_renew", "quorum_raise",
	}
	pushes     = []string{"grant", "head", "recall"}
	operations = []string{
		"Lock: done", "Lock: given up", "TryLock: done", "TryLock: held", "Release: done", "MinHold", "MaxHold", "Release: lost, max hold",
		"Acquire: done", "RLock: done", "write Lock: done", "Multi: done", "Multi: held", "Campaign: done", "Leader: done", "Once: done",
		"Once: not due", "Revoke: done", "Steal: done", "Mutex.Steal: done", "Export: done", "Adopt: done", "EnsureHeld: done", "Eval: done", "a smaller part: done",
		"quorum Lock: done", "quorum TryLock: done", "quorum Campaign: done", "quorum MaxHold: done",
	}
	states = []string{
		"Queued, head", "Queued, behind", "Granted", "Released", "Renewed", "RenewFailed", "Recalled", "SubscriptionConfirmed", "SubscriptionBroken",
		"Lost, expired", "Lost, taken", "Lost, gone", "Lost, revoked", "Lost, stolen", "Lost, max hold", "LeaseExported",
	}
)

// The runs of make test reach every fault, step and state.
func TestCoverage(t *testing.T) {
	if *seed >= 0 || *first > 0 || *seeds < 400 || *all {
		t.Log("with fewer runs than make test plays not all need be reached: -sim.seeds 400")
		return
	}
	for _, c := range casts { // whose test was not among those that ran
		if played[c.name] == 0 {
			randomRuns(t, c.name)
		}
	}
	if t.Failed() {
		return
	}
	var steps []string
	for _, kind := range everyFate {
		for _, fate := range sim.CallFates {
			if kind != "subscribe" || fate != "refused" && fate != "twice" && fate != "again, later" {
				steps = append(steps, kind+": "+fate)
			}
		}
	}
	for _, kind := range someFate {
		steps = append(steps, kind+": on time")
	}
	for _, kind := range pushes {
		for _, fate := range sim.PushFates {
			steps = append(steps, kind+": "+fate)
		}
	}
	for _, part := range []struct {
		what    string
		counted map[string]int
		want    []string
	}{
		{"fault", total.Faults, append(faults, sim.CallFates[1:]...)}, {"step", total.Steps, steps},
		{"operation", total.Operations, operations}, {"state", total.States, states},
	} {
		for _, missing := range sim.Missing(part.counted, part.want) {
			t.Errorf("no run has the %s %q", part.what, missing)
		}
	}
	if t.Failed() {
		t.Log(total)
	}
}

// What is missing is named.
func TestMissing(t *testing.T) {
	tally := &sim.Tally{}
	tally.Fault("a")
	tally.Step("lock", []string{"twice", "late"})
	if got := sim.Missing(tally.Faults, []string{"a", "b", "twice"}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("Missing = %q, want b", got)
	}
	if got := sim.Missing(tally.Steps, []string{"lock: twice", "lock: late", "unlock: late"}); !slices.Equal(got, []string{"unlock: late"}) {
		t.Errorf("Missing = %q, want the unlock", got)
	}
}
