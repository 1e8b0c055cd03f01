package call

import (
	"cmp"
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// longestWait bounds WAIT, which keeps a connection to itself.
const longestWait = 2 * time.Second

// Replicas runs renewals that replicas must acknowledge. A renewal and its WAIT share a
// connection: WAIT counts only the writes of its own connection.
type Replicas struct {
	Store driver.Store
	Clock *clock.Clock
	Want  int // how many must acknowledge

	enough atomic.Bool // Want replicas answered the newest WAIT
}

// Acknowledged is the result of a renewal.
type Acknowledged struct {
	driver.Result
	Acked     int // replicas that have it
	Connected int // replicas that the server has; -1: not known
}

// Eval runs renewals in one pipeline with WAIT at its end. ends returns the deadline of each:
// WAIT takes a third of the time that is left.
func (p *Replicas) Eval(ctx context.Context, calls []driver.Call, ends func(i int) clock.Instant) []Acknowledged {
	connected := p.connected(ctx, calls[0])
	results := p.wait(ctx, calls, connected, ends)
	for i := range results {
		if rest, ok := keyOnly(calls[i]); ok && split(results[i].Err) {
			results[i] = p.wait(ctx, []driver.Call{rest}, connected, func(int) clock.Instant { return ends(i) })[0]
		}
		p.enough.Store(results[i].Err == nil && results[i].Acked >= p.Want)
	}
	return results
}

func (p *Replicas) wait(ctx context.Context, calls []driver.Call, connected int, ends func(i int) clock.Instant) []Acknowledged {
	want := p.Want
	if connected >= 0 { // do not wait for those that are not there
		want = min(want, connected)
	}
	results, acked, err := p.Store.EvalWait(ctx, calls, want, p.patience(len(calls), ends))
	all := make([]Acknowledged, len(calls))
	for i, r := range results {
		all[i] = Acknowledged{driver.Result{Reply: r.Reply, Err: cmp.Or(r.Err, err)}, acked, connected}
	}
	return all
}

// patience is WaitFor the nearest of the ends.
func (p *Replicas) patience(n int, ends func(i int) clock.Instant) time.Duration {
	left, now := 3*longestWait, p.Clock.Exact()
	for i := range n {
		left = min(left, ends(i).Sub(now))
	}
	return WaitFor(left)
}

// WaitFor returns how long WAIT may take: a third of the time that is left, so that there is
// time for another try and for a turn. It is never 0: WAIT would wait forever.
func WaitFor(left time.Duration) time.Duration {
	return max(min(longestWait, left/3).Truncate(time.Millisecond), time.Millisecond)
}

// connected returns how many replicas the server has, or -1 if that is not known. It asks only
// where the answer helps: WAIT for replicas that do not exist would take all its time.
func (p *Replicas) connected(ctx context.Context, call driver.Call) int {
	if p.enough.Load() {
		return -1
	}
	reply, err := p.Store.Eval(ctx, driver.Call{Script: script.Replicas, Keys: call.Keys})
	if err != nil || len(reply) != 1 {
		return -1 // perhaps INFO is not allowed
	}
	n, err := strconv.Atoi(reply[0])
	if err != nil {
		return -1
	}
	return n
}
