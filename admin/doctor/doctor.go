// Package doctor checks whether a server is fit for locks. It tries all that a Client needs
// on a name of its own, and reads the settings of the server.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Result is one finding of [Check].
type Result struct {
	Name        string `json:"name"`
	State       State  `json:"state"`
	Finding     string `json:"finding"`     // what the client observed
	Consequence string `json:"consequence"` // effect on locks; may be empty if State is OK
	Fix         string `json:"fix"`         // what to do; empty if there is nothing to do
}

// State is the outcome of a [Result].
type State string

// The states of a [Result].
const (
	OK      State = "OK"
	Warn    State = "WARN"    // locks work, but a problem is likely
	Fail    State = "FAIL"    // locks do not work, or are not safe
	Unknown State = "unknown" // the server does not give the information
)

// Options are the settings of a Check. The zero value of a field, and nil Options, mean
// the default of [holdfast.Options].
type Options struct {
	Prefix string        // stands before every name
	TTL    time.Duration // of the locks that will be used
	Owner  string        // label of the holder while Check locks
}

// Check tests on a name of its own all that holdfast needs from the server. It also
// reads the settings of the server. Call it when a program starts, or to find a fault.
// The name is the prefix and then "check-"; Check deletes it again.
//
// Check returns when it is done, when ctx ends, or after one TTL (1 to 15 s) without an
// answer. It returns failures as results: an unreachable server is a [Fail].
func Check(ctx context.Context, store driver.Store, options *Options) []Result {
	d := newDoctor(store, options)
	t := newTrial(d, 0)
	servers, err := d.servers(ctx, t)
	if err != nil {
		return []Result{broken("server", err)}
	}
	defer t.sweep(ctx)
	checks := []Result{
		worst(servers, checkServer),
		checkRights(servers[0]),
		t.lock(ctx),
		t.wait(ctx),
		t.list(ctx),
		worst(servers, checkMemory),
		worst(servers, checkPersistence),
		worst(servers, checkReplicas),
		checkCluster(servers[0], store.Sharded()),
	}
	return append(checks, t.time(ctx)...)
}

// doctor is what all steps of a Check share.
type doctor struct {
	caller  *call.Caller
	options Options
	random  func() uint64
}

func newDoctor(store driver.Store, options *Options) *doctor {
	o := Options{}
	if options != nil {
		o = *options
	}
	if o.TTL <= 0 {
		o.TTL = holdfast.DefaultTTL
	}
	if o.Owner == "" {
		process := holdfast.ProcessDetails()
		o.Owner = fmt.Sprintf("%s:%d", process.Host, process.PID)
	}
	o.Prefix = keyspace.Prefix(o.Prefix)
	return &doctor{&call.Caller{Store: store, Life: context.Background()}, o, rand.Uint64}
}

// timeout is how long one call may take.
func (d *doctor) timeout() time.Duration { return min(max(d.options.TTL, time.Second), 15*time.Second) }

// broken is a check that ended with an error.
func broken(name string, err error) Result {
	check := Result{Name: name, State: Fail, Finding: strings.TrimPrefix(err.Error(), "holdfast: "), Consequence: "no name can be locked"}
	var strange odd
	check.Fix = Fix(err)
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
func (d *doctor) servers(ctx context.Context, t *trial) ([]server, error) {
	first, err := t.eval(ctx, script.Check, t.facts()...)
	if err != nil {
		return nil, err
	}
	all := []server{decodeServer(first)}
	if !d.caller.Store.Sharded() {
		return all, nil
	}
	calls := make([]driver.Call, mastersSought)
	for i := range calls {
		other := newTrial(d, i+1)
		calls[i] = driver.Call{Script: script.Check, Keys: other.keys[:], Args: other.facts()}
	}
	known := map[string]bool{all[0].info["run_id"]: true}
	for _, result := range d.caller.Many(ctx, d.timeout(), calls) {
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

// fields splits the answer of an INFO.
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
var grave = map[State]int{OK: 0, Unknown: 1, Warn: 2, Fail: 3}

// worst checks each server, and returns the result of the worst.
func worst(servers []server, of func(server) Result) Result {
	var chosen Result
	for i, s := range servers {
		check := of(s)
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

// unsaid is a check of something that the server does not say.
func unsaid(name, what string) Result {
	return Result{
		Name: name, State: Unknown, Finding: "the server does not say " + what,
		Fix: "check the server itself, or check once as a user with +info",
	}
}

// checkTime compares round trips with the ttl: what is pushed or renewed has to
// arrive well before it ends.
func (d *doctor) checkTime(slowest time.Duration) Result {
	life := min(d.options.TTL, protocol.ClaimWindow)
	check := Result{Name: "round trip", State: OK, Finding: fmt.Sprintf("at most %v; it must stay well below %v", slowest.Round(10*time.Microsecond), life)}
	switch {
	case slowest > life/3:
		check.State = Fail
		check.Consequence = "a grant arrives shortly before it ends: callers get ErrTooSlow, and leases are lost"
	case slowest > life/10:
		check.State = Warn
		check.Consequence = "if the delay grows a little, leases are lost"
	default:
		return check
	}
	check.Fix = "use a longer TTL, or a server that is nearer; if it is near, find the commands that keep it busy (SLOWLOG, LATENCY)"
	return check
}

// checkClock looks at how far the server's clock is ahead of ours.
func checkClock(ahead time.Duration) Result {
	check := Result{Name: "clock", State: OK, Finding: fmt.Sprintf("the server's clock is within %v of this machine's", max(ahead.Abs().Round(time.Millisecond), time.Millisecond))}
	if ahead.Abs() <= time.Second {
		return check
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	check.State = Warn
	check.Finding = fmt.Sprintf("the server's clock is %v %s this machine's", ahead.Abs().Round(time.Second/10), way)
	check.Consequence = "leases do not depend on that, but tokens use the server's clock: if the server loses its data, they keep rising only if its clock was not set back"
	check.Fix = "correct the wrong clock, slowly, and let NTP keep it"
	return check
}
