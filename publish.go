package holdfast

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// publicError converts an error of an internal package to the public error.
func publicError(err error) error {
	switch e := err.(type) { //nolint:errorlint // made there, never wrapped but by wire.Failure
	case nil:
		return nil
	case *machine.Lost:
		return &LostError{Name: e.Name, Token: e.Token, Cause: Cause(e.Cause), Reason: e.Reason}
	case *machine.Held:
		return &HeldError{Name: e.Name, Owner: e.Owner, Foreign: e.Foreign, Cooldown: e.Cooldown, Remaining: e.Remaining, Waiters: e.Waiters}
	case *machine.AnotherKind:
		k := &KindError{Name: e.Name, Kind: kindOf(e.Letter), Size: e.Size, Actual: Kind(e.Answer.Kind)}
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
	case *machine.Waited:
		return newWaitError(e)
	case *exported.Ended:
		return &LostError{Name: e.Hold.Name, Token: e.Hold.Token, Cause: Cause(e.Cause), Reason: e.Reason}
	case *exported.Late:
		return &TooSlowError{Name: e.Hold.Name, TTL: e.TTL, RoundTrip: e.RoundTrip}
	case *exported.Unacknowledged:
		return &ReplicasError{Name: e.Hold.Name, Want: e.Want, Got: e.Got, Connected: -1}
	case *ballot.Denied:
		return &QuorumError{Need: e.Need, Nodes: e.Nodes}
	}
	return wire.InFailure(err, publicError)
}

// publicEvent converts an event of package machine to the public event.
func publicEvent(e machine.Event, at time.Time) Event {
	switch e.What {
	case machine.Queueing:
		return Queued{Name: e.Name, Position: e.Position, Holder: e.Holder, Remaining: e.Remaining, Joined: e.Joined}
	case machine.TurnGranted:
		return Granted{Name: e.Name, Owner: e.Holder, Token: e.Token, Waited: e.Took, Kind: kindOf(e.Letter), At: at, Source: Source(e.Source)}
	case machine.NameRecalled:
		return Recalled{Name: e.Name}
	case machine.LeaseReleased:
		return Released{Name: e.Name, Owner: e.Holder, Token: e.Token, Held: e.Took, Kind: kindOf(e.Letter), At: at}
	case machine.LeaseLost:
		if Cause(e.Cause) == Exported {
			return LeaseExported{Name: e.Name, Owner: e.Holder, Token: e.Token, Held: e.Took, Kind: kindOf(e.Letter), At: at}
		}
		return Lost{Name: e.Name, Owner: e.Holder, Token: e.Token, Cause: Cause(e.Cause), Reason: e.Reason, Held: e.Took, Kind: kindOf(e.Letter), At: at}
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

// eventQueue hands events to OnEvent, in order and from one goroutine.
type eventQueue struct {
	events  chan Event
	done    chan struct{} // closed when OnEvent has all
	dropped atomic.Int64  // events that were dropped and that no Dropped event has counted yet
	awaited atomic.Bool   // a Close waits for done
}

func newEventQueue() *eventQueue {
	return &eventQueue{events: make(chan Event, 1024), done: make(chan struct{})}
}

// note queues an event of the engine, which calls it under its mutex.
func (q *eventQueue) note(e machine.Event, at time.Time) { q.add(publicEvent(e, at)) }

// add queues an event. It is safe for concurrent use.
func (q *eventQueue) add(e Event) {
	if q.dropped.Load() > 0 {
		if n := q.dropped.Swap(0); n > 0 && !q.put(Dropped{int(n)}) {
			q.dropped.Add(n)
		}
	}
	if q.dropped.Load() > 0 || !q.put(e) {
		q.dropped.Add(1)
	}
}

// put reports whether there was room for an event.
func (q *eventQueue) put(e Event) bool {
	select {
	case q.events <- e:
		return true
	default:
		return false
	}
}

// deliver calls f with all events that were queued before stopped was closed.
func (q *eventQueue) deliver(f func(Event), stopped <-chan struct{}) {
	defer close(q.done)
	for {
		select {
		case e := <-q.events:
			f(e)
			continue
		case <-stopped:
		}
		break
	}
	for len(q.events) > 0 {
		f(<-q.events)
	}
	if n := q.dropped.Load(); n > 0 {
		f(Dropped{int(n)})
	}
}

// await waits until OnEvent has all events, so that a program that stores them has all
// when Close returns. It waits 1 s at most, because OnEvent is code of the user.
func (q *eventQueue) await() {
	select {
	case <-q.done:
	case <-time.After(time.Second):
	}
}
