package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/memory"
)

// process is what a Client knows of its names, and decides about them. It does no I/O and reads
// no clock: the core calls it with its mutex held, and hands it each answer, each push and
// the time. It asks its host to act.
type process struct {
	settings
	host     host
	random   func() uint64
	client   string // our part of every id
	idHead   string
	plain    *kind // of most calls of Lock
	schedule clock.Schedule

	closed         bool
	names          map[string]*localName     // by key: the name, or more for a kind of its own
	lastOwn        int64                     // the newest number of such a kind
	tenures        map[string]*tenure        // by id: all that are not past
	byFormerID     map[string]*tenure        // by the ids that they had before their part was made smaller
	givenUpIDs     memory.For[*localName]    // ids given up before they were granted
	endedIDs       memory.For[*localName]    // ids released or lost
	minHolds       map[string]clock.Instant  // ended ids whose min hold is not over, and until when
	exportedIDs    memory.For[*localName]    // ids that another process ends
	sub            *subscriber               // the subscription; in a Cluster each name has its own
	remembered     memory.Recent[*localName] // by key, for remembered ids of shared kinds: see localName.remembered
	reportedSizes  map[string]int64          // of semaphores: actual sizes that were reported as different
	sharedSubs     sharedSubs                // in a Cluster those of the shared kinds: the acquisitions of a name share one
	lastAnswer     clock.Instant             // when the newest answer came
	netFailed      bool                      // a request failed in the network since the last answer
	netFailureOver clock.Instant             // when that was last over: what was sent before may never be answered
	renewedAllAt   clock.Instant             // when all that is held was last renewed
	noPushUntil    clock.Instant             // until when nothing is expected to be pushed
	cleanups       map[*cleanup]struct{}
	cancels        memory.Bounded[*cleanup] // those that cancel an id, one for each
	removals       map[string]*tenure       // by id
	lateCleanups   []driver.Call            // what undoes lock requests that came back after Close
}

// host does what a process wants done. No method blocks or calls the process.
type host interface {
	send(r *request)                        // as soon as the mutex is released
	notBefore(name string) clock.Instant    // until when a name is left to waiters of other Clients; 0: it is not
	deliver(w *waiter, o outcome)           // what a call gets
	answer(about any, err error)            // how a request, or the release of a turn, went: a call may wait for it
	done(what any)                          // the call that waits for this goes on
	ended(u *turn)                          // its contexts and channels end
	note(e event)                           // for the user of the Client
	warn(message string, about ...any)      // in the log
	listen(s *subscriber, resubscribe bool) // on its channel; from now on, or once more
	unlisten(s *subscriber)                 // no more
	showDetails()                           // of this process, where they are wanted
}

// settings are those of the options that decisions depend on.
type settings struct {
	prefix        string
	ttl           time.Duration
	owner         string
	linger        time.Duration
	waitReplicas  int
	repairOrphans time.Duration
	events        bool         // somebody wants them
	queue         bool         // the server keeps a queue and pushes; else waiters poll
	sharded       bool         // a Cluster: each name has a subscription of its own
	sendsOnce     func() bool  // the store never repeats a call; one that is not open yet does not know
	wall          func() int64 // microseconds of the wall clock
}

// patience is how long calls go on while Redis does not answer.
func (s *settings) patience() time.Duration { return min(max(s.ttl, time.Second), 15*time.Second) }

// attempt is how long one request may take.
func (s *settings) attempt() time.Duration {
	return min(max(s.ttl/2, 250*time.Millisecond), 2*time.Second)
}

// retryWindow is how soon one request may follow another that it repeats.
func (s *settings) retryWindow() time.Duration { return 2 * s.attempt() }

// patienceToRelease is how long Release waits for its answer.
func (s *settings) patienceToRelease() time.Duration { return min(s.ttl, 2*time.Second) }

func newProcess(s settings, h host, random func() uint64) *process {
	p := &process{
		settings:    s,
		host:        h,
		random:      random,
		client:      keyspace.NewClientID(random),
		plain:       &kind{owner: s.owner, ttl: s.ttl, tail: keyspace.Tail(s.ttl, s.owner), lingers: true},
		schedule:    clock.NewSchedule(),
		names:       make(map[string]*localName),
		tenures:     make(map[string]*tenure),
		byFormerID:  make(map[string]*tenure),
		cleanups:    make(map[*cleanup]struct{}),
		minHolds:    make(map[string]clock.Instant),
		removals:    make(map[string]*tenure),
		givenUpIDs:  memory.For[*localName]{Limit: 1 << 16},
		endedIDs:    memory.For[*localName]{Limit: 1 << 12},
		exportedIDs: memory.For[*localName]{Limit: 1 << 12},
		remembered:  memory.Recent[*localName]{Age: time.Minute, Limit: 1 << 10},
		cancels:     memory.Bounded[*cleanup]{Limit: maxCancels},

		renewedAllAt: -clock.Instant(time.Hour),
		lastAnswer:   -clock.Instant(time.Hour),
	}
	p.idHead = p.client + "."
	switch {
	case !s.queue: // nothing is pushed: no name waits for a subscription, none is opened
		p.sub = &subscriber{p: p, wanted: true, confirmed: true, confirmedAt: -clock.Instant(time.Hour)}
	case !s.sharded:
		p.sub = &subscriber{p: p, channel: keyspace.PushChannel(p.client, "")}
	}
	return p
}

// later calls f at when.
func (p *process) later(when, now clock.Instant, f func(now clock.Instant)) {
	p.schedule.Set(&clock.Timer{Fire: f}, when, now)
}

// jitter is a random part of d.
func (p *process) jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(p.random() % uint64(d))
}
