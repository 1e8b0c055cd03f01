package holdfast

import (
	"context"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// With Options.WaitReplicas a failover must not undo what a caller was told. So
// a grant gives nothing until a renewal of it was acknowledged by enough
// replicas, and a renewal prolongs nothing, and gives no tokens, unless it was.
// The renewal and its WAIT travel on one connection: on another, WAIT speaks of
// other writes. See docs/protocol.md.

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
func (c *core) evalAcknowledged(ctx context.Context, requests []*request, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(requests))
	for i, a := range c.acked.Eval(ctx, calls, func(i int) clock.Instant { return requests[i].tenure.ends() }) {
		requests[i].acked, requests[i].connected = a.Acked, a.Connected
		results[i] = a.Result
	}
	return results
}

// Replicas returns how many replicas acknowledged the grant or the newest counted
// renewal. It returns 0 without [Options.WaitReplicas].
func (l *Lease) Replicas() int { return int(l.turn.tenure.replicas.Load()) }
