package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/memory"
)

// Process is what a Client knows of its names, and decides about them. It does no I/O and reads
// no clock: the core calls it with its mutex held, and hands it each answer, each push and
// the time. It asks its host to act.
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
	Ttl           time.Duration
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
func (s *Settings) Patience() time.Duration { return min(max(s.Ttl, time.Second), 15*time.Second) }

// Attempt is how long one request may take.
func (s *Settings) Attempt() time.Duration {
	return min(max(s.Ttl/2, 250*time.Millisecond), 2*time.Second)
}

// retryWindow is how soon one request may follow another that it repeats.
func (s *Settings) retryWindow() time.Duration { return 2 * s.Attempt() }

// PatienceToRelease is how long Release waits for its answer.
func (s *Settings) PatienceToRelease() time.Duration { return min(s.Ttl, 2*time.Second) }

func New(s Settings, h Host, random func() uint64) *Process {
	p := &Process{
		Settings:    s,
		Host:        h,
		Random:      random,
		ClientID:    keyspace.NewClientID(random),
		plain:       &Kind{Owner: s.Owner, Ttl: s.Ttl, tail: keyspace.Tail(s.Ttl, s.Owner), lingers: true},
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
