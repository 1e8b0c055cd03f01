package holdfast

import (
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// With Options.WaitReplicas a failover must not undo the answer that a caller got. So
// a grant gives nothing until a renewal of it was acknowledged by enough
// replicas, and a renewal prolongs nothing, and gives no tokens, unless it was.
// The renewal and its WAIT travel on one connection: on another, WAIT speaks of
// other writes. See docs/protocol.md.

// confirm renews a tenure that was granted, before anybody here gets a turn.
func (n *localName) confirm(t *tenure, now clock.Instant) {
	patience := n.p.patience()
	if now >= n.unconfirmedSince.Add(2*patience) {
		n.unconfirmedSince = 0 // it failed before a long wait in the queue
	}
	switch {
	case n.waiters.n == 0:
		n.sendRelease(now)
	case n.unconfirmedSince > 0 && now >= n.unconfirmedSince.Add(patience):
		n.giveBackUnconfirmed(wire.Failure(n.name, wire.ErrUnreachable, n.lastErr), now)
	default:
		n.renewSoon(t, now)
	}
}

// giveBackUnconfirmed gives a grant back, and rejects the waiters.
func (n *localName) giveBackUnconfirmed(err error, now clock.Instant) {
	n.unconfirmedSince = 0
	n.reject(err)
	n.sendRelease(now)
}

// confirmFailed: it is unknown whether the replicas have the grant.
func (n *localName) confirmFailed(err error, since, now clock.Instant) {
	if n.unconfirmedSince == 0 {
		n.unconfirmedSince = since
	}
	n.lastErr = err
	if !wire.Transient(err) {
		n.giveBackUnconfirmed(wire.Failure(n.name, nil, err), now)
	}
}

// acknowledged notes that enough replicas have what was renewed.
func (n *localName) acknowledged(t *tenure, r *request) {
	t.replicas.Store(int32(r.acked))
	t.confirmed, n.unconfirmedSince = true, 0
}

// tooFewReplicas: the master renewed, and too few replicas have it. A grant is given
// back; what is held is renewed again until its deadline, and never undone.
func (n *localName) tooFewReplicas(r *request, a wire.Answer, now clock.Instant) {
	t := r.tenure
	err := &tooFewReplicas{name: n.name, want: n.p.waitReplicas, got: r.acked, connected: r.connected}
	if a.Waiting > 0 {
		n.recalled(t)
	}
	if !t.confirmed {
		n.giveBackUnconfirmed(err, now)
		return
	}
	n.renewFailed(t, err, now)
}
