package holdfast

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// The errors and events of a process. publish.go makes the public ones of them.

// cause is why a lease was lost.
type cause string

const (
	expired      cause = "expired"
	taken        cause = "taken"
	gone         cause = "gone"
	closed       cause = "closed"
	maxHold      cause = "max hold"
	revoked      cause = "revoked"
	stolen       cause = "stolen"
	exportedAway cause = "exported"
)

// lost is how a lease ended without a release.
type lost struct {
	name   string
	token  int64
	cause  cause
	reason string // given to Revoke or Steal
}

// held is what a call gets that does not wait.
type held struct {
	name              string
	owner             string
	foreign, cooldown bool
	remaining         time.Duration
	waiters           int
}

// anotherKind means that the name is locked as another kind than was asked for.
type anotherKind struct {
	name   string
	kind   byte // of the id, see keyspace; 0: a mutex
	size   int
	answer wire.Answer
}

// badName means that a name cannot be a key.
type badName struct{ name, reason string }

// otherTenure means that the tenure to steal from does not hold the name.
type otherTenure struct{ name, tenure, holder string }

// tooSlow means that a grant was over when its answer came.
type tooSlow struct {
	name           string
	ttl, roundTrip time.Duration
}

// tooFewReplicas means that fewer replicas than asked for have acknowledged a grant.
type tooFewReplicas struct {
	name                 string
	want, got, connected int
}

func (f *lost) Error() string           { return "lost: " + string(f.cause) }
func (f *held) Error() string           { return "held by " + f.owner }
func (f *anotherKind) Error() string    { return "another kind" }
func (f *badName) Error() string        { return f.reason }
func (f *otherTenure) Error() string    { return "another tenure" }
func (f *tooSlow) Error() string        { return "too slow" }
func (f *tooFewReplicas) Error() string { return "too few replicas" }

var (
	// errOneByOne: the names can't be asked for at once.
	errOneByOne = errors.New("holdfast: these names must be asked for one by one")

	// errNoLongerDue: between our inspect and our lock another has begun the tick, or has set a
	// schedule, or the tick is over.
	errNoLongerDue = errors.New("holdfast: not due any more")

	errReserving = errors.New("a renewal that reserves tokens has no answer yet: try again")

	errMayHaveStolen = errors.New("an earlier attempt had no answer and may have ended the tenure; " +
		"now the name is free or has another holder")
)

// happening is what an event is about.
type happening int

const (
	queueing happening = iota
	turnGranted
	recalledName
	leaseReleased
	leaseLost
	renewed
	renewFailed
	subscriptionConfirmed
	subscriptionBroken
	sizeMismatch
	repaired
)

// source is how a waiter learned of its grant.
type source string

const (
	sourceAnswer source = "answer"
	sourcePush   source = "push"
	sourcePoll   source = "poll"
	sourceTurn   source = "turn"
)

// event is what has happened. It has the fields that its happening needs.
type event struct {
	what      happening
	name      string
	token     int64
	kind      byte
	took      time.Duration // the wait until a grant, or how long the name was held
	source    source
	position  int
	holder    string
	remaining time.Duration
	joined    bool
	cause     cause
	reason    string
	at        clock.Instant // the end of a lost lease
	replicas  int
	slack     float64
	err       error
	asked     int
	actual    int
}
