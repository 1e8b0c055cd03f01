package machine

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/memory"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Client is the state machine of one holdfast.Client. It is not safe for concurrent use: the engine's mutex
// protects it, and all that it refers to.
type Client struct {
	Settings
	Host        Host
	Random      func() uint64
	NotBefore   func(name string) clock.Instant // of a quorum: do not ask for the name earlier, because it is left to other Clients; nil: ask now
	ClientID    string                          // the first part of each id of this Client
	idPrefix    string
	defaultKind *Kind // of calls with the owner and the ttl of the Client
	Schedule    clock.Schedule

	Closed         bool
	names          map[string]*Name     // by key: the name; for a dedicated or shared kind the name and a number
	lastDedicated  int64                // the newest of these numbers
	tenures        map[string]*Tenure   // by id: those that are neither ended nor exported
	givenUpIDs     memory.For[*Name]    // ids given up before they were granted
	endedIDs       memory.For[*Name]    // ids released or lost
	exportedIDs    memory.For[*Name]    // exported ids: this Client must not cancel them
	sub            *Subscriber          // the subscription; nil in a Cluster, where each name has its own
	remembered     memory.Recent[*Name] // by name, for remembered ids of shared kinds: see Name.remembered
	contacts       map[string]*contact  // by name: of dedicated and shared kinds, see Name.join
	reportedSizes  map[string]int64     // of semaphores: actual sizes that were reported as different
	sharedSubs     sharedSubs           // in a Cluster: the subscriptions of the shared kinds, one for each name
	LastAnswer     clock.Instant        // when the newest answer came
	answered       exchange             // of the newest answer that has the server's time
	NetFailed      bool                 // a request failed in the network since the last answer
	netFailureOver clock.Instant        // when NetFailed was last reset: an earlier request may never be answered
	renewedAllAt   clock.Instant        // when renewAll ran last, or is due
	noPushUntil    clock.Instant        // until then waiters poll: the server refused to publish
	cleanups       map[*cleanup]struct{}
	cancels        memory.Bounded[*cleanup]  // by id: the one that cancels it
	coolDowns      memory.For[clock.Instant] // by ended id: Lifetime.CoolUntil
	awaitedIDs     map[string]*Tenure        // by id: given up, and a call waits until Redis forgets it
	LateCleanups   []driver.Call             // they undo locks that were answered after Close
}

// Host does all that has an effect outside the Client. The mutex is held during each call. A
// method must not block, and must not call an input of the Client.
type Host interface {
	Send(r *Request)                        // when the mutex is released
	Deliver(w *LocalWaiter, o Outcome)      // ends the call of w
	Answer(about any, err error)            // the result of a *Request, or of the release of a *Turn; nil: success
	Done(what any)                          // resumes the call that waits for a *Tenure, a *Removal or a *Kind
	Ended(u *Turn)                          // ends the contexts and channels of u
	Note(e Event)                           // for Options.OnEvent
	Warn(message string, about ...any)      // logs a message and pairs of key and value
	Listen(s *Subscriber, resubscribe bool) // subscribes to s.Channel; resubscribe: replaces an open subscription
	Unlisten(s *Subscriber)                 // closes the subscription
	ShowDetails()                           // stores the process details, see Settings.ShowsDetails
}

// Settings are the options that decisions depend on.
type Settings struct {
	Prefix        string
	TTL           time.Duration
	Owner         string
	Linger        time.Duration
	WaitReplicas  int
	RepairOrphans time.Duration
	TokenMemory   time.Duration // how long Redis remembers tokens; 0: as long as by default
	Events        bool          // Options.OnEvent is set
	ShowsDetails  bool          // Options.Details is set
	Queue         bool          // the server keeps a queue and pushes; else waiters poll
	Sharded       bool          // a Cluster: each name has a subscription of its own
	SendsOnce     func() bool   // reports whether the store never repeats a call; known once the store is open
	Wall          func() int64  // microseconds of the wall clock
}

// Patience returns how long calls retry while Redis does not answer: one ttl, 1 s to 15 s.
func (s *Settings) Patience() time.Duration { return min(max(s.TTL, time.Second), 15*time.Second) }

// Attempt returns how long one request may take: half a ttl, 250 ms to 2 s.
func (s *Settings) Attempt() time.Duration {
	return min(max(s.TTL/2, 250*time.Millisecond), 2*time.Second)
}

// retryWindow returns the time of two attempts, 500 ms to 4 s: see lateAgain.
func (s *Settings) retryWindow() time.Duration { return 2 * s.Attempt() }

// PatienceToRelease returns how long Release waits for its answer: one ttl, at most 2 s.
func (s *Settings) PatienceToRelease() time.Duration { return min(s.TTL, 2*time.Second) }

// New returns a Client without names. random returns 64 random bits.
func New(s Settings, h Host, random func() uint64) *Client {
	c := &Client{
		Settings:    s,
		Host:        h,
		Random:      random,
		ClientID:    keyspace.NewClientID(random),
		defaultKind: DedicatedKind(s.Owner, lifetime.Terms{TTL: s.TTL, Memory: s.TokenMemory}),
		Schedule:    clock.NewSchedule(),
		names:       make(map[string]*Name),
		tenures:     make(map[string]*Tenure),
		cleanups:    make(map[*cleanup]struct{}),
		awaitedIDs:  make(map[string]*Tenure),
		contacts:    make(map[string]*contact),
		givenUpIDs:  memory.For[*Name]{Limit: 1 << 16},
		endedIDs:    memory.For[*Name]{Limit: 1 << 12},
		coolDowns:   memory.For[clock.Instant]{Limit: 1 << 20},
		exportedIDs: memory.For[*Name]{Limit: 1 << 12},
		remembered:  memory.Recent[*Name]{Age: time.Minute, Limit: 1 << 10},
		cancels:     memory.Bounded[*cleanup]{Limit: maxCancels},

		renewedAllAt: -clock.Instant(time.Hour),
		LastAnswer:   -clock.Instant(time.Hour),
	}
	c.idPrefix, c.defaultKind.lingers = c.ClientID+".", s.Linger > 0
	switch {
	case !s.Queue: // nothing is pushed: no name waits for a subscription, none is opened
		c.sub = &Subscriber{client: c, wanted: true, Confirmed: true, confirmedAt: -clock.Instant(time.Hour)}
	case !s.Sharded:
		c.sub = &Subscriber{client: c, Channel: keyspace.PushChannel(c.ClientID, "")}
	}
	return c
}

// Later calls f once, at the time when.
func (c *Client) Later(when, now clock.Instant, f func(now clock.Instant)) {
	c.Schedule.Set(&clock.Timer{Fire: f}, when, now)
}

// Jitter returns a random duration of less than d. It returns 0 if d is not positive.
func (c *Client) Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(c.Random() % uint64(d))
}

// Request is one script call. Its answer may come after seconds, twice or never. The request
// stores only what was asked: what an answer means depends on the state when it comes.
type Request struct {
	Call        driver.Call
	Name        *Name
	Tenure      *Tenure          // the owner of the id; nil for a cleanup and a repair
	locks       string           // the id that it may put into the lock key or the queue, its own or a successor's; else ""
	renewal     lifetime.Renewal // what a renewal asks for
	Part        *ballot.Call     // of a quorum: the call to one node; else nil
	Sent        clock.Instant    // read before it was sent: a ttl in the answer counts from here
	Attempt     time.Duration
	SharesLimit bool          // its Attempt is that of the Client: requests sent at the same time share a context
	Waits       bool          // there was a blocking local waiter when it was made
	hasPlace    bool          // of a lock: it asks for the place that its id had in the queue
	Renews      bool          // it is a renewal
	Replicas    int           // how many must acknowledge a renewal
	reserves    bool          // of a renewal: it reserves tokens
	fence       bool          // of a renewal: it prolongs the fence key, too
	Unsent      bool          // a renewal that waits for a pipeline, see MarkSent
	reserving   bool          // it counts in Tenure.reservations
	NoFallback  bool          // it needs all keys: no fall-back to the lock key only
	weight      int64         // of a renewal: the reduced weight that it stores; 0: not reduced
	HeldUntil   clock.Instant // of a check: the deadline by Redis; 0: no answer yet; clock.Never: no expiry
	OnAnswer    func(r *Request, a wire.Answer, err error, now clock.Instant)
	Parts       []*Request // the locks that this call carries, one for each name: see Group

	Acked, Connected int // replicas: of a renewal with WaitReplicas
}

// HandleAnswer takes the answer to r, or the error if there is none. After Close it only notes in
// LateCleanups how to undo a lock.
func (c *Client) HandleAnswer(r *Request, a wire.Answer, err error, now clock.Instant) {
	if c.Closed {
		c.answeredLate(r, now)
		return
	}
	if err == nil {
		c.LastAnswer = now
	} else {
		err = r.Explained(err)
	}
	if err != nil || c.NetFailed {
		c.noteNetwork(err, now)
	}
	if a.Refused != "" {
		c.refusedToPublish(a.Refused, now)
	}
	if a.Server > 0 && r.Sent >= c.answered.sent {
		c.answered = exchange{sent: r.Sent, server: a.Server}
	}
	r.Answered(a, err, now)
}

// noteNetwork notes whether the network failed, or works again.
func (c *Client) noteNetwork(err error, now clock.Instant) {
	if err != nil && wire.MayHaveMoved(err) {
		c.NetFailed = true
	} else if c.NetFailed {
		// The store answers again. It may be another server than before: renewals show
		// which tenures that server does not know.
		c.NetFailed, c.netFailureOver = false, now
		c.renewAllSoon(now)
	}
}

// answeredLate notes how to undo a lock that was answered after Close: it may have run after its cancel.
func (c *Client) answeredLate(r *Request, now clock.Instant) {
	if r.locks != "" && c.exportedIDs.Of(r.locks) == nil {
		c.LateCleanups = append(c.LateCleanups, r.Name.endCall(script.Cancel, r.locks, "", c.coolUntil(r.locks), now))
	}
}

// Explained returns an error that users can read: the server's answer with advice, or wire.ErrNoAnswer
// if the context of the attempt has ended. It returns nil for nil.
func (r *Request) Explained(err error) error {
	err = wire.WithoutContext(err)
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, r.Call.Keys[0])
	}
	return err
}

// ID returns the id that a request is about: the first argument of each script that takes one.
func (r *Request) ID() string { return r.Call.Args[0] }

// Batchable reports whether lock_batch can do a request: a lock that has no place in the queue, or an
// unlock without a successor, and as far as is known no other client wants the name.
func (r *Request) Batchable() bool {
	n, t := r.Name, r.Tenure
	switch {
	case n.NotBatched || n.seen.known || t != nil && t.servesUpTo > 0: // recalled: another client waits
		return false
	case r.Call.Script == script.Lock:
		return !r.hasPlace
	}
	return r.Call.Script == script.Unlock && r.locks == ""
}

// callFor returns the call of a script for this name. Most have its lock, fence and queue keys.
func (n *Name) callFor(s *driver.Script, args []string) driver.Call {
	if n.Kind.scripts == nil && (s == script.Lock || s == script.Unlock || s == script.Cancel) {
		return driver.Call{Script: s, Keys: n.Keys[:], Args: args}
	}
	return n.otherCall(s, args)
}

// send completes a request, which the host sends when the mutex is released. now was read before
// that, so a ttl in the answer may count from now.
func (n *Name) send(r *Request, now clock.Instant) *Request {
	r.Name, r.Sent, r.Attempt, r.SharesLimit, r.Waits = n, now, n.client.Attempt(), true, n.waiters.anyBlocking()
	n.contact.sent(now)
	n.client.Host.Send(r)
	return r
}

// unexpected is the error of an answer that no handler of its request knows.
func (r *Request) unexpected(a wire.Answer) error {
	return fmt.Errorf("%s was answered %q", r.Call.Script.Name, a.Word)
}

// These are the errors and events of a Client. publish.go in package holdfast converts them to the
// public ones.

// Lost is the error of a lease that ended without a release.
type Lost struct {
	Name   string
	Token  int64
	Cause  lifetime.Cause
	Reason string // given to Revoke or Steal
}

// Held is the error of a call that does not wait, if the name is not free. Remaining is negative if
// the lock key has no expiry.
type Held struct {
	Name              string
	Owner             string
	Foreign, Cooldown bool
	Remaining         time.Duration
	Waiters           int
}

// AnotherKind means that the name has another kind. Letter and Size are those that the call asked for,
// Answer has those in Redis.
type AnotherKind struct {
	Name   string
	Letter byte // of the id, see keyspace; 0: a mutex
	Size   int
	Answer wire.Answer
}

// BadName means that a name cannot be a key.
type BadName struct{ Name, Reason string }

// OtherTenure means that the tenure to steal from does not hold the name.
type OtherTenure struct{ Name, Tenure, Holder string }

// TooSlow means that the ttl is too short for the round trip: grants were over when they arrived.
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
	// ErrOneByOne means that one script cannot lock these names: lock them one by one.
	ErrOneByOne = errors.New("holdfast: these names must be asked for one by one")

	// ErrNoLongerDue means that the tick cannot begin any more. After our inspect another process
	// began it or set a schedule, or the tick was over.
	ErrNoLongerDue = errors.New("holdfast: not due any more")

	// ErrReserving means that an export has to wait for a renewal that is under way.
	ErrReserving = errors.New("a renewal that reserves tokens has no answer yet: try again")

	errMayHaveStolen = errors.New("an earlier attempt had no answer and may have ended the tenure; " +
		"now the name is free or has another holder")
)

// EventType is the type of an event.
type EventType int

// The types of events.
const (
	Queueing EventType = iota
	TurnGranted
	NameRecalled
	LeaseReleased
	LeaseLost
	Renewed
	RenewFailed
	SubscriptionConfirmed
	SubscriptionBroken
	SizeMismatch
	repaired
)

// Source is the way in which a waiter learned of its grant.
type Source string

const (
	sourceAnswer Source = "answer"
	sourcePush   Source = "push"
	sourcePoll   Source = "poll"
	sourceTurn   Source = "turn"
)

// Event is one event of a Client. Its field What says which other fields are set: see publish.go in
// package holdfast.
type Event struct {
	What      EventType
	Name      string
	Token     int64
	Letter    byte
	Took      time.Duration // the wait until a grant, or how long the name was held
	Source    Source
	Position  int
	Holder    string // label of the holder, also if it is this Client
	Remaining time.Duration
	Joined    bool
	Cause     lifetime.Cause
	Reason    string
	At        clock.Instant // the end of a lost lease
	Replicas  int
	Slack     float64
	Err       error
	Asked     int
	Actual    int
}
