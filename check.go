package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Check is one finding of [Client.Check].
type Check struct {
	Name        string
	State       CheckState
	Finding     string // what the client observed
	Consequence string // effect on locks; may be empty if State is CheckOK
	Fix         string // what to do; empty if there is nothing to do
}

// CheckState is the result of a [Check].
type CheckState string

// The states of a [Check].
const (
	CheckOK      CheckState = "OK"
	CheckWarn    CheckState = "WARN"    // locks work, but a problem is likely
	CheckFail    CheckState = "FAIL"    // locks do not work, or are not safe
	CheckUnknown CheckState = "unknown" // the server does not give the information
)

// Check tests on a name of its own all that holdfast needs from the server. It also
// reads the settings of the server. Call it when a program starts, or to find a fault.
// The name is the prefix and then "check-"; Check deletes it again.
//
// Check returns when it is done, when ctx ends, or after one TTL (1 to 15 s) without an
// answer. It returns failures as findings: an unreachable server or a closed Client is
// a [CheckFail].
func (c *Client) Check(ctx context.Context) []Check { return c.check(ctx) }

func (c *core) check(ctx context.Context) []Check {
	if c.isClosed() {
		return []Check{{Name: "server", State: CheckFail, Finding: "the client is closed", Consequence: "no name can be locked", Fix: "check with an open Client"}}
	}
	if c.quorum != nil {
		return []Check{{
			Name: "server", State: CheckUnknown, Finding: "this is the client of a quorum: a check does not cover its nodes",
			Fix: "check each node with a Client of its own; InspectQuorum and 'holdfast quorum status' show which nodes vote",
		}}
	}
	t := c.newTrial(0)
	servers, err := c.servers(ctx, t)
	if err != nil {
		return []Check{broken("server", err)}
	}
	defer t.sweep(ctx)
	checks := []Check{
		worst(servers, judgeServer),
		c.judgeRights(servers[0]),
		t.lock(ctx),
		t.wait(ctx),
		t.list(ctx),
		worst(servers, judgeMemory),
		worst(servers, judgePersistence),
		worst(servers, judgeReplicas),
		c.judgeCluster(servers[0]),
	}
	return append(checks, t.time(ctx)...)
}

// broken is a check that ended with an error.
func broken(name string, err error) Check {
	check := Check{Name: name, State: CheckFail, Finding: strings.TrimPrefix(err.Error(), "holdfast: "), Consequence: "no name can be locked"}
	var strange odd
	switch said, _ := wire.AsServerError(err); {
	case strings.HasPrefix(string(said), "OOM"):
		check.Fix = "raise maxmemory, or delete keys that no program needs"
	case strings.HasPrefix(string(said), "READONLY"):
		check.Fix = "use the address of the master, or of Sentinels (sentinel://)"
	}
	if _, said := wire.AsServerError(err); !said && !errors.As(err, &strange) {
		check.Fix = "check that the server runs, and its address, port, TLS and firewalls"
		check.Finding = "no answer: " + check.Finding
	}
	return check
}

// server is what one server said of itself.
type server struct {
	info    map[string]string // INFO, empty where it is forbidden
	cluster map[string]string // CLUSTER INFO, likewise
	rights  bool              // the server could say which commands it would refuse
	lacking []string          // these, in lower case
}

// mastersSought is how many keys are asked about in a Cluster, to come across
// each of its masters.
const mastersSought = 64

// servers asks the server, in a Cluster each master that some keys lead to.
func (c *core) servers(ctx context.Context, t *trial) ([]server, error) {
	first, err := t.eval(ctx, script.Check, t.facts()...)
	if err != nil {
		return nil, err
	}
	all := []server{decodeServer(first)}
	if !c.store.Sharded() {
		return all, nil
	}
	calls := make([]driver.Call, mastersSought)
	for i := range calls {
		other := c.newTrial(i + 1)
		calls[i] = driver.Call{Script: script.Check, Keys: other.keys[:], Args: other.facts()}
	}
	known := map[string]bool{all[0].info["run_id"]: true}
	for _, result := range c.calls.Many(ctx, c.options.patience(), calls) {
		if result.Err != nil {
			continue // the coverage says it, and the trial
		}
		if s := decodeServer(result.Reply); !known[s.info["run_id"]] {
			known[s.info["run_id"]] = true
			all = append(all, s)
		}
	}
	return all, nil
}

func decodeServer(reply []string) server {
	if len(reply) < 5 || reply[0] != "checked" {
		return server{}
	}
	return server{info: fields(reply[2]), cluster: fields(reply[3]), rights: reply[4] == "1", lacking: reply[5:]}
}

// fields takes the answer of an INFO apart.
func fields(info string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

// grave orders the states.
var grave = map[CheckState]int{CheckOK: 0, CheckUnknown: 1, CheckWarn: 2, CheckFail: 3}

// worst judges each server, and returns what is said of the worst.
func worst(servers []server, judge func(server) Check) Check {
	var chosen Check
	for i, s := range servers {
		check := judge(s)
		if i > 0 && grave[check.State] <= grave[chosen.State] {
			continue
		}
		chosen = check
		if len(servers) > 1 {
			chosen.Finding = fmt.Sprintf("%s (of %d masters, the one on port %s)", check.Finding, len(servers), s.info["tcp_port"])
		}
	}
	return chosen
}

// unsaid is a check of something that the server does not tell.
func unsaid(name, what string) Check {
	return Check{
		Name: name, State: CheckUnknown, Finding: "the server does not say " + what,
		Fix: "check the server itself, or check once as a user with +info",
	}
}

// judgeTime compares round trips with the ttl: what is pushed or renewed has to
// arrive well before it ends.
func (c *core) judgeTime(slowest time.Duration) Check {
	life := min(c.options.TTL, wire.ClaimWindow)
	check := Check{Name: "round trip", State: CheckOK, Finding: fmt.Sprintf("at most %v; it must stay well below %v", slowest.Round(10*time.Microsecond), life)}
	switch {
	case slowest > life/3:
		check.State = CheckFail
		check.Consequence = "a grant arrives shortly before it ends: callers get ErrTooSlow, and leases are lost"
	case slowest > life/10:
		check.State = CheckWarn
		check.Consequence = "if the delay grows a little, leases are lost"
	default:
		return check
	}
	check.Fix = "use a longer TTL, or a server that is nearer; if it is near, find the commands that keep it busy (SLOWLOG, LATENCY)"
	return check
}

// judgeClock looks at how far the server's clock is ahead of ours.
func judgeClock(ahead time.Duration) Check {
	check := Check{Name: "clock", State: CheckOK, Finding: fmt.Sprintf("the server's clock is within %v of this machine's", max(ahead.Abs().Round(time.Millisecond), time.Millisecond))}
	if ahead.Abs() <= time.Second {
		return check
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	check.State = CheckWarn
	check.Finding = fmt.Sprintf("the server's clock is %v %s this machine's", ahead.Abs().Round(time.Second/10), way)
	check.Consequence = "leases do not depend on that, but tokens use the server's clock: if the server loses its data, they keep rising only if its clock was not set back"
	check.Fix = "correct the wrong clock, slowly, and let NTP keep it"
	return check
}
