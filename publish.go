package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// publicError is the error that a caller gets for one of the process or of a ballot.
func publicError(err error) error {
	switch e := err.(type) { //nolint:errorlint // made by the process, never wrapped but by wire.Failure
	case nil:
		return nil
	case *lost:
		return &LostError{Name: e.name, Token: e.token, Cause: Cause(e.cause), Reason: e.reason}
	case *held:
		return &HeldError{Name: e.name, Owner: e.owner, Foreign: e.foreign, Cooldown: e.cooldown, Remaining: e.remaining, Waiters: e.waiters}
	case *anotherKind:
		k := &KindError{Name: e.name, Kind: kindOf(e.kind), Size: e.size}
		k.usedAs(e.answer)
		return k
	case *badName:
		return &NameError{e.name, e.reason}
	case *otherTenure:
		return tenureError(e.name, e.tenure, e.holder, e.holder != "")
	case *tooSlow:
		return &TooSlowError{Name: e.name, TTL: e.ttl, RoundTrip: e.roundTrip}
	case *tooFewReplicas:
		return &ReplicasError{Name: e.name, Want: e.want, Got: e.got, Connected: e.connected}
	case *ballot.Denied:
		return &QuorumError{Need: e.Need, Nodes: e.Nodes}
	}
	return wire.InFailure(err, publicError)
}

// endError is the error of a lease that has ended so; nil: it has not.
func endError(e *ending) error {
	if e == nil {
		return nil
	}
	return publicError(e.err)
}

// publicEvent is the event that OnEvent gets for one of the process.
func (c *core) publicEvent(e *event) Event {
	switch e.what {
	case queueing:
		return Queued{Name: e.name, Position: e.position, Holder: e.holder, Remaining: e.remaining, Joined: e.joined}
	case turnGranted:
		return Granted{Name: e.name, Token: e.token, Waited: e.took, Kind: kindOf(e.kind), At: time.Now(), Source: Source(e.source)}
	case recalledName:
		return Recalled{Name: e.name}
	case leaseReleased:
		return Released{Name: e.name, Token: e.token, Held: e.took, Kind: kindOf(e.kind), At: time.Now()}
	case leaseLost:
		return Lost{
			Name: e.name, Token: e.token, Cause: Cause(e.cause), Reason: e.reason, Held: e.took, Kind: kindOf(e.kind),
			At: time.Now().Add(e.at.Sub(c.clock.Now())),
		}
	case renewed:
		return Renewed{Name: e.name, Remaining: e.remaining, Replicas: e.replicas, Slack: e.slack}
	case renewFailed:
		return RenewFailed{Name: e.name, Err: publicError(e.err), Remaining: e.remaining, Slack: e.slack}
	case subscriptionConfirmed:
		return SubscriptionConfirmed{}
	case subscriptionBroken:
		return SubscriptionBroken{Err: e.err}
	case sizeMismatch:
		return SizeMismatch{Name: e.name, Asked: e.asked, Actual: e.actual}
	default: // repaired
		return Repaired{Name: e.name}
	}
}
