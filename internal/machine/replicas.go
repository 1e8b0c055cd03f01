package machine

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
func (n *Name) confirm(t *Tenure, now clock.Instant) {
	patience := n.P.Patience()
	if now >= n.unconfirmedSince.Add(2*patience) {
		n.unconfirmedSince = 0 // it failed before a long wait in the queue
	}
	switch {
	case n.waiters.n == 0:
		n.sendRelease(now)
	case n.unconfirmedSince > 0 && now >= n.unconfirmedSince.Add(patience):
		n.giveBackUnconfirmed(wire.Failure(n.Name, wire.ErrUnreachable, n.lastErr), now)
	default:
		n.renewSoon(t, now)
	}
}

// giveBackUnconfirmed gives a grant back, and rejects the waiters.
func (n *Name) giveBackUnconfirmed(err error, now clock.Instant) {
	n.unconfirmedSince = 0
	n.reject(err)
	n.sendRelease(now)
}

// confirmFailed: it is unknown whether the replicas have the grant.
func (n *Name) confirmFailed(err error, since, now clock.Instant) {
	if n.unconfirmedSince == 0 {
		n.unconfirmedSince = since
	}
	n.lastErr = err
	if !wire.Transient(err) {
		n.giveBackUnconfirmed(wire.Failure(n.Name, nil, err), now)
	}
}

// acknowledged notes that enough replicas have what was renewed.
func (n *Name) acknowledged(t *Tenure, r *Request) {
	t.Replicas.Store(int32(r.Acked))
	t.confirmed, n.unconfirmedSince = true, 0
}

// tooFewReplicas: the master renewed, and too few replicas have it. A grant is given
// back; what is held is renewed again until its deadline, and never undone.
func (n *Name) tooFewReplicas(r *Request, a wire.Answer, now clock.Instant) {
	t := r.Tenure
	err := &TooFewReplicas{Name: n.Name, Want: n.P.WaitReplicas, Got: r.Acked, Connected: r.Connected}
	if a.Waiting > 0 {
		n.recalled(t)
	}
	if !t.confirmed {
		n.giveBackUnconfirmed(err, now)
		return
	}
	n.renewFailed(t, err, now)
}
