package machine

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// The errors and events of a process. publish.go makes the public ones of them.

// Cause is why a lease was lost.
type Cause string

const (
	expired      Cause = "expired"
	taken        Cause = "taken"
	gone         Cause = "gone"
	closed       Cause = "closed"
	maxHold      Cause = "max hold"
	revoked      Cause = "revoked"
	stolen       Cause = "stolen"
	exportedAway Cause = "exported"
)

// Lost is how a lease ended without a release.
type Lost struct {
	Name   string
	Token  int64
	Cause  Cause
	Reason string // given to Revoke or Steal
}

// Held is what a call gets that does not wait.
type Held struct {
	Name              string
	Owner             string
	Foreign, Cooldown bool
	Remaining         time.Duration
	Waiters           int
}

// AnotherKind means that the name is locked as another kind than was asked for.
type AnotherKind struct {
	Name   string
	Kind   byte // of the id, see keyspace; 0: a mutex
	Size   int
	Answer wire.Answer
}

// BadName means that a name cannot be a key.
type BadName struct{ Name, Reason string }

// OtherTenure means that the tenure to steal from does not hold the name.
type OtherTenure struct{ Name, Tenure, Holder string }

// TooSlow means that a grant was over when its answer came.
type TooSlow struct {
	Name           string
	Ttl, RoundTrip time.Duration
}

// TooFewReplicas means that fewer replicas than asked for have acknowledged a grant.
type TooFewReplicas struct {
	Name                 string
	Want, Got, Connected int
}

func (f *Lost) Error() string           { return "lost: " + string(f.Cause) }
func (f *Held) Error() string           { return "held by " + f.Owner }
func (f *AnotherKind) Error() string    { return "another kind" }
func (f *BadName) Error() string        { return f.Reason }
func (f *OtherTenure) Error() string    { return "another tenure" }
func (f *TooSlow) Error() string        { return "too slow" }
func (f *TooFewReplicas) Error() string { return "too few replicas" }

var (
	// ErrOneByOne: the names can't be asked for at once.
	ErrOneByOne = errors.New("holdfast: these names must be asked for one by one")

	// ErrNoLongerDue: between our inspect and our lock another has begun the tick, or has set a
	// schedule, or the tick is over.
	ErrNoLongerDue = errors.New("holdfast: not due any more")

	ErrReserving = errors.New("a renewal that reserves tokens has no answer yet: try again")

	errMayHaveStolen = errors.New("an earlier attempt had no answer and may have ended the tenure; " +
		"now the name is free or has another holder")
)

// Happening is what an event is about.
type Happening int

const (
	Queueing Happening = iota
	TurnGranted
	RecalledName
	LeaseReleased
	LeaseLost
	Renewed
	RenewFailed
	SubscriptionConfirmed
	SubscriptionBroken
	SizeMismatch
	repaired
)

// Source is how a waiter learned of its grant.
type Source string

const (
	sourceAnswer Source = "answer"
	sourcePush   Source = "push"
	sourcePoll   Source = "poll"
	sourceTurn   Source = "turn"
)

// Event is what has happened. It has the fields that its happening needs.
type Event struct {
	What      Happening
	Name      string
	Token     int64
	Kind      byte
	Took      time.Duration // the wait until a grant, or how long the name was held
	Source    Source
	Position  int
	Holder    string
	Remaining time.Duration
	Joined    bool
	Cause     Cause
	Reason    string
	At        clock.Instant // the end of a lost lease
	Replicas  int
	Slack     float64
	Err       error
	Asked     int
	Actual    int
}
