//go:build linux

package faults

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/inject"
)

// Promise is what peers are compared by.
type Promise string

// The promises. The checkers of holdfast say whether one is broken. Where they need what
// only holdfast writes into Redis, what stood in Redis says it.
const (
	OwnView  Promise = "exclusion by own view"
	Fenced   Promise = "fenced register"
	NotLeft  Promise = "nothing left after giving up"
	InTime   Promise = "context ends in time"
	NotTaken Promise = "not released by another"
)

// Promises are all of them.
var Promises = []Promise{OwnView, Fenced, NotLeft, InTime, NotTaken}

// reachable are faults in which whoever gives up can clean up, at once or in the
// end.
var reachable = []string{inject.None.Name, "answers-lost", "nth-answer-lost", "answers-held", "stalled", "latency", "client-pause", "server-frozen"}

// checkPeer checks the promises that a scenario is about; a promise that it is not
// about, or that the peer does not make, is not in the answer.
func checkPeer(s *check.History, peer client.Peer, scenario Scenario, ttl time.Duration) map[Promise][]check.Violation {
	r := check.Rules{TTL: ttl, Loses: scenario.Fault.Loses, Split: scenario.Fault.Splits}
	checked := map[Promise][]check.Violation{Fenced: check.Fence(s, r)}
	if !scenario.Fault.Loses {
		checked[OwnView] = check.Exclusion(s, r)
		if peer != client.Holdfast { // whose key changes by turns and grants: MONITOR shows that, see TestVerify
			checked[NotTaken] = check.Deleted(s, r)
		}
	}
	if peer == client.Rueidislock && !scenario.Fault.Loses {
		checked[InTime] = checked[OwnView] // its view is that its context has not ended
	}
	if peer == client.Holdfast {
		checked[InTime] = nil
		if _, late := check.Contexts(s); len(late) > 0 {
			checked[InTime] = []check.Violation{{Checker: "contexts", Text: fmt.Sprint(late[0], " ended late")}}
		}
	}
	if slices.Contains(reachable, scenario.Fault.Name) {
		checked[NotLeft] = check.Behind(s, r)
		if peer == client.Holdfast {
			checked[NotLeft] = check.Leftovers(s, r)
		}
	}
	return checked
}

// PeerReport is what histories of peers came to.
type PeerReport struct {
	Rows   map[client.Peer]*PeerRow `json:"peers"`
	Broken []string                 `json:"broken"` // what went wrong with the harness

	plan PeerPlan
}

// PeerRow is about one peer.
type PeerRow struct {
	Histories int                      `json:"histories"`
	Grants    int                      `json:"grants"`
	Promises  map[Promise]*PeerPromise `json:"promises"`
	Overtook  int                      `json:"overtaken"` // the most in one wait, where nothing was done to anybody
	Waited    time.Duration            `json:"waited"`    // the longest there
}

// PeerPromise is about one promise.
type PeerPromise struct {
	Histories int               `json:"histories"` // of scenarios that are about it
	Broken    int               `json:"broken"`    // of these
	First     map[string]string `json:"first"`     // by scenario, the first that was seen broken there: how to replay it
}

func newPeerReport(plan PeerPlan) *PeerReport {
	r := &PeerReport{Rows: map[client.Peer]*PeerRow{}, plan: plan}
	for _, p := range plan.Peers {
		r.Rows[p] = &PeerRow{Promises: map[Promise]*PeerPromise{}}
	}
	return r
}

func (r *PeerReport) add(o *PeerOutcome) {
	if o.Err != nil {
		r.Broken = append(r.Broken, o.Err.Error())
		return
	}
	row := r.Rows[o.Peer]
	row.Histories++
	row.Grants += o.Grants
	if o.Scenario.Fault.Name == inject.None.Name {
		row.Overtook, row.Waited = max(row.Overtook, o.Overtook), max(row.Waited, o.Waited)
	}
	for promise, violations := range o.Checked {
		j := row.Promises[promise]
		if j == nil {
			j = &PeerPromise{First: map[string]string{}}
			row.Promises[promise] = j
		}
		j.Histories++
		if len(violations) == 0 {
			continue
		}
		j.Broken++
		scenario := o.Scenario.String()
		if j.First[scenario] == "" {
			j.First[scenario] = fmt.Sprintf("go test -count 1 -run '^TestPeers$' ./test/faults -args -peer '^%s$' -peer-scenario '^%s$' -seed %d -peer-histories 1", o.Peer, scenario, o.Seed)
			if err := r.keep(o, promise, violations[0], j.First[scenario]); err != nil {
				r.Broken = append(r.Broken, err.Error())
			}
		}
	}
}

// keep writes down what was seen.
func (r *PeerReport) keep(o *PeerOutcome, promise Promise, v check.Violation, replay string) error {
	words := strings.NewReplacer("/", "_", " ", "-")
	dir := filepath.Join(r.plan.Failures, words.Replace(fmt.Sprintf("%s-%s-%s-%d", o.Peer, promise, o.Scenario, o.Seed)))
	return keep(dir, replay, nil, []check.Violation{v}, o.Events)
}

// Table writes it for people. That a promise held in so many histories does not
// prove it; that it was broken in one proves that it can be.
func (r *PeerReport) Table(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "lock\tgranted")
	for _, p := range Promises {
		fmt.Fprintf(table, "\t%s", p)
	}
	fmt.Fprintln(table, "\tmost overtaken\tlongest wait")
	for _, peer := range r.plan.Peers {
		row := r.Rows[peer]
		fmt.Fprintf(table, "%s\t%d", peer, row.Grants)
		for _, p := range Promises {
			if j := row.Promises[p]; j == nil && p != InTime {
				fmt.Fprint(table, "\tnot checked here")
			} else {
				fmt.Fprintf(table, "\t%s", j)
			}
		}
		fmt.Fprintf(table, "\t%d\t%v\n", row.Overtook, row.Waited.Round(time.Millisecond))
	}
	_ = table.Flush()
	for _, peer := range r.plan.Peers {
		for _, p := range Promises {
			if j := r.Rows[peer].Promises[p]; j != nil {
				for scenario, replay := range j.First {
					fmt.Fprintf(w, "%s, %s: seen broken in %s: %s\n", peer, p, scenario, replay)
				}
			}
		}
	}
}

func (j *PeerPromise) String() string {
	switch {
	case j == nil:
		return "not offered"
	case j.Broken == 0:
		return fmt.Sprintf("held in %d", j.Histories)
	}
	return fmt.Sprintf("broken in %d of %d", j.Broken, j.Histories)
}
