package holdfast

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// With Options.WaitReplicas a failover must not undo what a caller was told. So
// a grant gives nothing until a renewal of it was acknowledged by enough
// replicas, and a renewal prolongs nothing, and gives no tokens, unless it was.
// The renewal and its WAIT travel on one connection: on another, WAIT speaks of
// other writes. See docs/protocol.md.

// longestWait bounds WAIT, which keeps a connection to itself.
const longestWait = 2 * time.Second

// confirm renews a tenure that was granted, before anybody here gets a turn.
func (l *line) confirm(t *tenure, now clock.Instant) {
	patience := l.c.options.patience()
	if now >= l.unsure.Add(2*patience) {
		l.unsure = 0 // it failed before a long wait in line
	}
	switch {
	case l.callers.n == 0:
		l.depart(now)
	case l.unsure > 0 && now >= l.unsure.Add(patience):
		l.unconfirmed(wire.Failure(l.name, ErrUnreachable, l.trouble), now)
	default:
		l.renewSoon(t, now)
	}
}

// unconfirmed gives a grant back, and sends the callers home.
func (l *line) unconfirmed(err error, now clock.Instant) {
	l.unsure = 0
	l.reject(err)
	l.depart(now)
}

// confirmFailed: nobody knows whether the replicas have the grant.
func (l *line) confirmFailed(err error, since, now clock.Instant) {
	if l.unsure == 0 {
		l.unsure = since
	}
	l.trouble = err
	if !wire.Transient(err) {
		l.unconfirmed(wire.Failure(l.name, nil, err), now)
	}
}

// acknowledged notes that enough replicas have what was renewed.
func (l *line) acknowledged(t *tenure, r *request) {
	t.replicas.Store(int32(r.acked))
	t.sure, l.unsure = true, 0
}

// tooFew: the master renewed, and too few replicas have it. A grant is given
// back; what is held is renewed again until its deadline, and never undone.
func (l *line) tooFew(r *request, a wire.Answer, now clock.Instant) {
	t := r.tenure
	err := &ReplicasError{Name: l.name, Want: l.c.options.WaitReplicas, Got: r.acked, Connected: r.connected}
	if a.Waiting > 0 {
		l.recalled(t)
	}
	if !t.sure {
		l.unconfirmed(err, now)
		return
	}
	l.renewFailed(t, err, now)
}

// evalAcknowledged sends renewals in one pipeline with WAIT at its end.
func (c *core) evalAcknowledged(requests []*request) []driver.Result {
	calls, attempt := pipelined(requests)
	ctx, cancel := context.WithTimeout(c.ctx, attempt)
	defer cancel()
	connected := c.connected(ctx, calls[0])
	results := c.evalWait(ctx, requests, calls, connected)
	for i, r := range requests {
		if rest, ok := alone(calls[i]); ok && parted(results[i].Err) {
			results[i] = c.evalWait(ctx, requests[i:i+1], []driver.Call{rest}, connected)[0]
		}
		c.enough.Store(results[i].Err == nil && r.acked >= c.options.WaitReplicas)
	}
	return results
}

func (c *core) evalWait(ctx context.Context, requests []*request, calls []driver.Call, connected int) []driver.Result {
	want := c.options.WaitReplicas
	if connected >= 0 { // do not wait for those that are not there
		want = min(want, connected)
	}
	results, acked, err := c.store.EvalWait(ctx, calls, want, c.waitFor(requests))
	for i, r := range requests {
		r.acked, r.connected = acked, connected
		results[i].Err = or(results[i].Err, err)
	}
	return results
}

// waitFor is how long WAIT may take: a third of the life that is left, so that
// there is time to try again, and for a turn. Zero would be for ever.
func (c *core) waitFor(requests []*request) time.Duration {
	wait, now := longestWait, c.clock.Exact()
	for _, r := range requests {
		wait = min(wait, r.tenure.ends().Sub(now)/3)
	}
	return max(wait.Truncate(time.Millisecond), time.Millisecond)
}

// connected is how many replicas the server has, or -1 where that is not worth
// asking: WAIT for replicas that do not exist would take all its time.
func (c *core) connected(ctx context.Context, call driver.Call) int {
	if c.enough.Load() {
		return -1
	}
	reply, err := c.store.Eval(ctx, driver.Call{Script: script.Replicas, Keys: call.Keys})
	if err != nil || len(reply) != 1 {
		return -1 // perhaps INFO is not allowed
	}
	n, err := strconv.Atoi(reply[0])
	if err != nil {
		return -1
	}
	return n
}

// Replicas returns how many replicas acknowledged the grant or the newest counted
// renewal. It returns 0 without [Options.WaitReplicas].
func (l *Lease) Replicas() int { return int(l.turn.tenure.replicas.Load()) }
