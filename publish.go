package holdfast

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// publicError is the error that a caller gets for one of the process or of a ballot.
func publicError(err error) error {
	switch e := err.(type) { //nolint:errorlint // made by the process or the engine, never wrapped but by wire.Failure
	case nil:
		return nil
	case *machine.Lost:
		return &LostError{Name: e.Name, Token: e.Token, Cause: Cause(e.Cause), Reason: e.Reason}
	case *machine.Held:
		return &HeldError{Name: e.Name, Owner: e.Owner, Foreign: e.Foreign, Cooldown: e.Cooldown, Remaining: e.Remaining, Waiters: e.Waiters}
	case *machine.AnotherKind:
		k := &KindError{Name: e.Name, Kind: kindOf(e.Kind), Size: e.Size, Actual: Kind(e.Answer.Kind)}
		if k.Actual == KindSemaphore {
			k.ActualSize = int(e.Answer.Capacity)
		}
		return k
	case *machine.BadName:
		return &NameError{e.Name, e.Reason}
	case *machine.OtherTenure:
		return tenureError(e.Name, e.Tenure, e.Holder, e.Holder != "")
	case *machine.TooSlow:
		return &TooSlowError{Name: e.Name, TTL: e.TTL, RoundTrip: e.RoundTrip}
	case *machine.TooFewReplicas:
		return &ReplicasError{Name: e.Name, Want: e.Want, Got: e.Got, Connected: e.Connected}
	case *engine.LateFailure:
		return fmt.Errorf("%w: %w", e.Ended, publicError(e.Failure))
	case *ballot.Denied:
		return &QuorumError{Need: e.Need, Nodes: e.Nodes}
	}
	return wire.InFailure(err, publicError)
}

// publicEvent is the event that OnEvent gets for one of the process, with its time.
func publicEvent(e machine.Event, at time.Time) Event {
	switch e.What {
	case machine.Queueing:
		return Queued{Name: e.Name, Position: e.Position, Holder: e.Holder, Remaining: e.Remaining, Joined: e.Joined}
	case machine.TurnGranted:
		return Granted{Name: e.Name, Token: e.Token, Waited: e.Took, Kind: kindOf(e.Kind), At: at, Source: Source(e.Source)}
	case machine.NameRecalled:
		return Recalled{Name: e.Name}
	case machine.LeaseReleased:
		return Released{Name: e.Name, Token: e.Token, Held: e.Took, Kind: kindOf(e.Kind), At: at}
	case machine.LeaseLost:
		return Lost{Name: e.Name, Token: e.Token, Cause: Cause(e.Cause), Reason: e.Reason, Held: e.Took, Kind: kindOf(e.Kind), At: at}
	case machine.Renewed:
		return Renewed{Name: e.Name, Remaining: e.Remaining, Replicas: e.Replicas, Slack: e.Slack}
	case machine.RenewFailed:
		return RenewFailed{Name: e.Name, Err: publicError(e.Err), Remaining: e.Remaining, Slack: e.Slack}
	case machine.SubscriptionConfirmed:
		return SubscriptionConfirmed{}
	case machine.SubscriptionBroken:
		return SubscriptionBroken{Err: e.Err}
	case machine.SizeMismatch:
		return SizeMismatch{Name: e.Name, Asked: e.Asked, Actual: e.Actual}
	default: // repaired
		return Repaired{Name: e.Name}
	}
}
