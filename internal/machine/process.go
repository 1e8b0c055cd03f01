package machine

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/memory"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Process is what a Client knows of its names, and decides about them. Its methods stand where the
// phase is that they are about: here those about all names, and in name.go, ask.go, hold.go, renew.go,
// release.go, waiter.go and kind.go the others.
type Process struct {
	Settings
	Host     Host
	Random   func() uint64
	ClientID string // our part of every id
	idHead   string
	plain    *Kind // of most calls of Lock
	Schedule clock.Schedule

	Closed         bool
	names          map[string]*Name         // by key: the name, or more for a kind of its own
	lastOwn        int64                    // the newest number of such a kind
	tenures        map[string]*Tenure       // by id: all that are not past
	byFormerID     map[string]*Tenure       // by the ids that they had before their part was made smaller
	givenUpIDs     memory.For[*Name]        // ids given up before they were granted
	endedIDs       memory.For[*Name]        // ids released or lost
	minHolds       map[string]clock.Instant // ended ids whose min hold is not over, and until when
	exportedIDs    memory.For[*Name]        // ids that another process ends
	sub            *Subscriber              // the subscription; in a Cluster each name has its own
	remembered     memory.Recent[*Name]     // by key, for remembered ids of shared kinds: see Name.remembered
	reportedSizes  map[string]int64         // of semaphores: actual sizes that were reported as different
	sharedSubs     sharedSubs               // in a Cluster those of the shared kinds: the acquisitions of a name share one
	LastAnswer     clock.Instant            // when the newest answer came
	NetFailed      bool                     // a request failed in the network since the last answer
	netFailureOver clock.Instant            // when that was last over: what was sent before may never be answered
	renewedAllAt   clock.Instant            // when all that is held was last renewed
	noPushUntil    clock.Instant            // until when nothing is expected to be pushed
	cleanups       map[*cleanup]struct{}
	cancels        memory.Bounded[*cleanup] // those that cancel an id, one for each
	removals       map[string]*Tenure       // by id
	LateCleanups   []driver.Call            // what undoes lock requests that came back after Close
}

// Host does what a process wants done. No method blocks or calls the process.
type Host interface {
	Send(r *Request)                        // as soon as the mutex is released
	NotBefore(name string) clock.Instant    // until when a name is left to waiters of other Clients; 0: it is not
	Deliver(w *Waiter, o Outcome)           // what a call gets
	Answer(about any, err error)            // how a request, or the release of a turn, went: a call may wait for it
	Done(what any)                          // the call that waits for this goes on
	Ended(u *Turn)                          // its contexts and channels end
	Note(e Event)                           // for the user of the Client
	Warn(message string, about ...any)      // in the log
	Listen(s *Subscriber, resubscribe bool) // on its channel; from now on, or once more
	Unlisten(s *Subscriber)                 // no more
	ShowDetails()                           // of this process, where they are wanted
}

// Settings are those of the options that decisions depend on.
type Settings struct {
	Prefix        string
	TTL           time.Duration
	Owner         string
	Linger        time.Duration
	WaitReplicas  int
	RepairOrphans time.Duration
	Events        bool         // somebody wants them
	Queue         bool         // the server keeps a queue and pushes; else waiters poll
	Sharded       bool         // a Cluster: each name has a subscription of its own
	SendsOnce     func() bool  // the store never repeats a call; one that is not open yet does not know
	Wall          func() int64 // microseconds of the wall clock
}

// Patience is how long calls go on while Redis does not answer.
func (s *Settings) Patience() time.Duration { return min(max(s.TTL, time.Second), 15*time.Second) }

// Attempt is how long one request may take.
func (s *Settings) Attempt() time.Duration {
	return min(max(s.TTL/2, 250*time.Millisecond), 2*time.Second)
}

// retryWindow is how soon one request may follow another that it repeats.
func (s *Settings) retryWindow() time.Duration { return 2 * s.Attempt() }

// PatienceToRelease is how long Release waits for its answer.
func (s *Settings) PatienceToRelease() time.Duration { return min(s.TTL, 2*time.Second) }

// New returns a process that knows of no name.
func New(s Settings, h Host, random func() uint64) *Process {
	p := &Process{
		Settings:    s,
		Host:        h,
		Random:      random,
		ClientID:    keyspace.NewClientID(random),
		plain:       &Kind{Owner: s.Owner, TTL: s.TTL, tail: keyspace.Tail(s.TTL, s.Owner), lingers: true},
		Schedule:    clock.NewSchedule(),
		names:       make(map[string]*Name),
		tenures:     make(map[string]*Tenure),
		byFormerID:  make(map[string]*Tenure),
		cleanups:    make(map[*cleanup]struct{}),
		minHolds:    make(map[string]clock.Instant),
		removals:    make(map[string]*Tenure),
		givenUpIDs:  memory.For[*Name]{Limit: 1 << 16},
		endedIDs:    memory.For[*Name]{Limit: 1 << 12},
		exportedIDs: memory.For[*Name]{Limit: 1 << 12},
		remembered:  memory.Recent[*Name]{Age: time.Minute, Limit: 1 << 10},
		cancels:     memory.Bounded[*cleanup]{Limit: maxCancels},

		renewedAllAt: -clock.Instant(time.Hour),
		LastAnswer:   -clock.Instant(time.Hour),
	}
	p.idHead = p.ClientID + "."
	switch {
	case !s.Queue: // nothing is pushed: no name waits for a subscription, none is opened
		p.sub = &Subscriber{p: p, wanted: true, Confirmed: true, confirmedAt: -clock.Instant(time.Hour)}
	case !s.Sharded:
		p.sub = &Subscriber{p: p, Channel: keyspace.PushChannel(p.ClientID, "")}
	}
	return p
}

// Later calls f at when.
func (p *Process) Later(when, now clock.Instant, f func(now clock.Instant)) {
	p.Schedule.Set(&clock.Timer{Fire: f}, when, now)
}

// Jitter is a random part of d.
func (p *Process) Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(p.Random() % uint64(d))
}

// Request is one run of a script on its way. An answer may come after seconds, twice or
// never: the state decides what it still means. The request only has what it was about. Its methods
// that take an answer stand in ask.go, renew.go and release.go, those about a kind in kind.go.
type Request struct {
	Call      driver.Call
	Local     *Name
	Tenure    *Tenure       // whose id it speaks of
	minTTL    time.Duration // of a renewal: how long the lock key has to live, beyond the ttl
	Part      *ballot.Call  // what a node of a quorum is to answer; nil: it is no such request
	Sent      clock.Instant // read before it was sent: what the answer proves begins here
	Attempt   time.Duration
	Waits     bool          // a caller that blocks was here when it was noted
	Unsent    bool          // a renewal that no pipeline has taken yet
	reserving bool          // counted among the reservations of its tenure
	WholeOnly bool          // it does not fall back to the lock key only
	extendBy  time.Duration // a renewal by Lease.Extend; else 0
	HeldUntil clock.Instant // of a check: until when the name is ours, as Redis says; 0: no answer yet
	OnAnswer  func(r *Request, a wire.Answer, err error, now clock.Instant)
	Parts     []*Request // locks of several names that travel as this one; see group

	Acked, Connected int // replicas: of a renewal with WaitReplicas
}

// HandleAnswer takes an answer, or the reason why there is none.
func (p *Process) HandleAnswer(r *Request, a wire.Answer, err error, now clock.Instant) {
	if p.Closed {
		if id := r.lockedID(); id != "" && p.exportedIDs.Of(id) == nil { // it may have run after its cancel
			p.LateCleanups = append(p.LateCleanups, p.endCall(id, r.Local, script.Cancel, now))
		}
		return
	}
	err = r.Explained(err)
	if err == nil {
		p.LastAnswer = now
	}
	if err != nil && wire.MayHaveMoved(err) {
		p.NetFailed = true
	} else if p.NetFailed {
		// The store answers again, perhaps another server than before: a renewal
		// shows now what it does not know of us.
		p.NetFailed, p.netFailureOver = false, now
		p.renewAllSoon(now)
	}
	if a.Refused != "" {
		p.refusedToPublish(a.Refused, now)
	}
	r.OnAnswer(r, a, err, now)
}

// Explained is an error as people are to read it.
func (r *Request) Explained(err error) error {
	err = wire.WithoutContext(err)
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, r.Call.Keys[0])
	}
	return err
}

// lockedID is the id that a request may have put into the lock key or the queue, if any.
func (r *Request) lockedID() string {
	switch r.Call.Script {
	case script.Lock, script.SharedLock, script.Adopt, script.Take, script.OnceLock:
		return r.Call.Args[0]
	case script.Unlock:
		if len(r.Call.Args) > 2 {
			return r.Call.Args[2]
		}
	case script.Cooldown:
		return r.Call.Args[4]
	}
	return ""
}

// MayBeContended reports whether others may want the name: a script for several names does not
// do it then.
func (r *Request) MayBeContended() bool {
	n, t := r.Local, r.Tenure
	return n.notBatched || n.seen.known || t != nil && t.servesUpTo > 0 // recalled: somebody waits
}

// GoAlone notes that the script for several names has left this one out.
func (n *Name) GoAlone() { n.notBatched = true }

// keysFor are the keys of a script that speaks of this name.
func (n *Name) keysFor(s *driver.Script, args []string) []string {
	switch {
	case s == script.Adopt || s == script.Take:
		return n.Keys.WithRevocation()
	case s == script.Held:
		return []string{n.Keys.Lock(), n.Keys.Revocation()}
	case s == script.OnceLock:
		return append(n.Keys[:], n.Keys.WithOnce()[1])
	case s != script.Renew:
		return n.Keys[:]
	case n.renewKeys == nil: // it comes often, and is asked again and again
		n.renewKeys = n.Keys.ToRenew()
	}
	if len(args) > 1 {
		return n.renewKeys
	}
	return n.renewKeys[:3]
}

// sendScript notes a request; it goes out when the mutex is released. It is sent
// after now was read, so now is a safe start for what it will prove.
func (p *Process) sendScript(s *driver.Script, n *Name, t *Tenure, now clock.Instant, args []string, answered func(*Request, wire.Answer, error, clock.Instant)) *Request {
	r := &Request{
		Call:     n.callFor(s, args),
		Local:    n,
		Tenure:   t,
		Sent:     now,
		Attempt:  p.Attempt(),
		Waits:    n.waiters.anyBlocking(),
		OnAnswer: answered,
	}
	if s == script.Renew || s == script.Held {
		r.Attempt = n.patienceToRenew(t, now)
	}
	r.Unsent = s == script.Renew && t.confirmed // else a caller waits for it: it has a WAIT of its own
	p.Host.Send(r)
	return r
}

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
	TTL, RoundTrip time.Duration
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
	// ErrOneByOne means that the names can't be asked for at once.
	ErrOneByOne = errors.New("holdfast: these names must be asked for one by one")

	// ErrNoLongerDue means that between our inspect and our lock another has begun the tick, or has
	// set a schedule, or the tick is over.
	ErrNoLongerDue = errors.New("holdfast: not due any more")

	// ErrReserving means that an export has to wait for a renewal that is under way.
	ErrReserving = errors.New("a renewal that reserves tokens has no answer yet: try again")

	errMayHaveStolen = errors.New("an earlier attempt had no answer and may have ended the tenure; " +
		"now the name is free or has another holder")
)

// Happening is what an event is about.
type Happening int

// What can happen.
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
