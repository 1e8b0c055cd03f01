package ballot

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/memory"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Op is what a request asks for.
type Op int

// The operations. The package comment has their answers.
const (
	Lock Op = iota
	Renew
	Held
	Unlock
	Undo
)

// Request is one question to all nodes. It must not be changed after Ask.
type Request struct {
	Op      Op
	ID      string
	Place   *Place
	Sent    clock.Instant // when it was asked; read before
	Attempt time.Duration // how long a node may take to answer
	Waits   bool          // Lock: if the name is held, the caller polls again
	Wall    int64         // Lock: the wall clock in microseconds, from which a token is proposed
	Owned   bool          // Undo: the name was ours under this id
	For     any           // of the user
}

// Call is a script that one node is to run.
type Call struct {
	driver.Call
	Node    int
	Sent    clock.Instant
	Attempt time.Duration

	part  part
	place *Place
}

// id returns the id of the tenure that the call is about.
func (c *Call) id() string { return c.Args[0] }

// part is a part of a Ballot that waits for the answer to a call.
type part interface {
	answered(c *Call, a wire.Answer, err error, now clock.Instant)
}

// Host is what a Ballot calls. A method may call Ask, but not Answered and Tick. The
// Ballot does not expect any result.
type Host interface {
	// Send sends a script to a node. Its result, or an error, must come back by Answered.
	Send(c *Call)
	// Answer is the answer to a request.
	Answer(r *Request, a wire.Answer, err error, now clock.Instant)
	// Failed means that a node refused for good to undo what it has of a name.
	Failed(name string, c *Call, err error)
}

// tenurePhase is the state of a tenure.
type tenurePhase int

const (
	asked     tenurePhase = iota // its try is not decided
	held                         // a majority has it
	unlocking                    // Unlock was asked
	ended                        // lost, released or given up
)

// tenure is the state of one id.
type tenure struct {
	id     string
	place  *Place
	phase  tenurePhase
	try    *try
	token  int64         // the majority's
	ends   clock.Instant // its deadline
	expiry clock.Instant // when it has expired on all nodes, unless it is renewed
	wanted clock.Instant // until when another place of this Client has polled for it
	unlock *unlock
}

// prolong moves the deadline: a majority has the name for the ttl, which counts from start.
func (t *tenure) prolong(start clock.Instant) {
	t.ends = max(t.ends, clock.Deadline(start, t.place.TTL))
	t.expiry = max(t.expiry, start.Add(t.place.TTL))
}

// Settings are those of a Ballot.
type Settings struct {
	ID      string        // quorum-id
	Nodes   int           // how many; an odd number
	Attempt time.Duration // how long one request may take
	Random  func(d time.Duration) time.Duration
}

// Ballot is the state of a Client's requests to the nodes of its quorum. It is not safe for concurrent use.
// Make it with New.
type Ballot struct {
	Settings
	host  Host
	need  int // a majority
	nodes []*node

	seen      int64                 // newest token that was seen
	tenures   map[string]*tenure    // by id: those that are asked for, held or being unlocked
	sweepFrom int                   // how many tenures make it drop those that have expired
	past      memory.For[*Place]    // ids that were given up, released or lost
	cleanups  map[*cleanup]struct{} // not ended
	yields    yields
	timers    clock.Timers
	owed      []*Call // what Close has to send
	closed    bool
}

// New returns a Ballot that has not asked its nodes anything yet.
func New(s Settings, host Host) *Ballot {
	b := &Ballot{
		Settings: s, host: host, need: majority.Of(s.Nodes),
		tenures:  make(map[string]*tenure),
		cleanups: make(map[*cleanup]struct{}),
		past:     memory.For[*Place]{Limit: 1 << 12},
	}
	for i := range s.Nodes {
		b.nodes = append(b.nodes, &node{number: i})
	}
	return b
}

// Need returns how many nodes are a majority.
func (b *Ballot) Need() int { return b.need }

// Silent reports whether a node did not answer in time and has not answered since. It is safe
// for concurrent use.
func (b *Ballot) Silent(node int) bool { return b.nodes[node].silent.Load() }

// Ask begins a request. Its answer comes later, by Host.Answer.
func (b *Ballot) Ask(r *Request) {
	switch {
	case b.closed:
	case r.Op == Lock:
		(&try{b: b, request: r, tenure: b.begin(r)}).begin()
	case r.Op == Renew || r.Op == Held:
		(&renewal{b: b, request: r, tenure: b.tenureOf(r)}).begin()
	case r.Op == Unlock:
		(&round{unlock: b.beginUnlock(b.tenureOf(r)), request: r}).begin()
	case r.Op == Undo:
		b.undo(r)
	}
}

// Answered takes the answer of a node to a call, or the error if there is none. err is ErrNotSent
// only if the call was certainly not sent.
func (b *Ballot) Answered(c *Call, a wire.Answer, err error, now clock.Instant) {
	b.nodes[c.Node].noteResult(c.Sent, err, now)
	if !b.closed {
		c.part.answered(c, a, err, now)
		return
	}
	switch c.Script {
	case script.QuorumLock, script.QuorumRepair: // it may have run after its unlock
		b.owed = append(b.owed, b.unlockOn(c.Node, c.place, c.id()))
	case script.QuorumUnlock:
		if err != nil && wire.Transient(err) { // a majority of other nodes has answered
			b.owed = append(b.owed, c)
		}
	}
}

// Dropped takes back a call that was not sent before Close. Close must still send an unlock:
// no other request releases that lease.
func (b *Ballot) Dropped(c *Call) {
	b.nodes[c.Node].inflight--
	if c.Script == script.QuorumUnlock {
		b.owed = append(b.owed, c)
	}
}

// Next returns when Tick is to be called next. It is never after Close.
func (b *Ballot) Next() clock.Instant { return b.timers.Next() }

// Tick does what is due, but not more than 512 things: then Next is still due.
func (b *Ballot) Tick(now clock.Instant) {
	for range 512 { // other goroutines need the mutex, too
		t := b.timers.Due(now)
		if t == nil {
			return
		}
		t.Fire(now)
	}
}

// NotBefore returns until when a name is left to a waiter of another Client, or 0. A place that
// does not poll already must not ask for the name before.
func (b *Ballot) NotBefore(name string) clock.Instant { return b.yields.until[name] }

// Close ends the Ballot: no request is answered any more. For each tenure, each cleanup and each
// silent node it stores the unlocks that are still needed, for Owed. Answered and Dropped still
// take the results of earlier calls.
func (b *Ballot) Close(now clock.Instant) {
	b.closed, b.timers = true, clock.Timers{}
	for id, t := range b.tenures {
		if t.phase != asked && t.expiry.Add(t.place.TTL) < now {
			continue // all nodes have forgotten it
		}
		for i := range b.nodes {
			b.owed = append(b.owed, b.unlockOn(i, t.place, id))
		}
	}
	for i, n := range b.nodes {
		for id, place := range n.owed {
			b.owed = append(b.owed, b.unlockOn(i, place, id))
		}
	}
	for k := range b.cleanups {
		b.owed = append(b.owed, b.unlockOn(k.node, k.place, k.args...))
	}
}

// Owed returns the calls that remove the ids of this Client from the nodes. It returns each call
// once. There may be more after results of calls that were sent before Close.
func (b *Ballot) Owed() []*Call {
	owed := b.owed
	b.owed = nil
	return owed
}

// Busy returns how many answers Close still has to wait for: those of a majority, and those of
// nodes that have been waited for less than they usually take.
func (b *Ballot) Busy(waited time.Duration) int {
	quiet, slow := 0, 0
	for _, n := range b.nodes {
		switch {
		case n.inflight == 0:
			quiet++
		case !n.silent.Load() && waited < n.patience(b.Attempt):
			slow++
		}
	}
	return max(slow, b.need-quiet)
}

// Grace returns how long Close waits for a node after a majority has answered: as long as a try
// would. For a silent node that is toSend, the time that it takes to send the calls.
func (b *Ballot) Grace(node int, toSend time.Duration) time.Duration {
	if n := b.nodes[node]; !n.silent.Load() {
		return n.patience(b.Attempt)
	}
	return toSend
}

// send sends a script to a node.
func (b *Ballot) send(to int, s *driver.Script, place *Place, args []string, now clock.Instant, attempt time.Duration, part part) {
	c := &Call{
		Call: driver.Call{Script: s, Keys: place.keys(s), Args: args},
		Node: to, Sent: now, Attempt: attempt, part: part, place: place,
	}
	b.nodes[to].noteSent(b.Attempt, now)
	b.host.Send(c)
}

// unlockOn returns a call that removes an id from one node, for Close.
func (b *Ballot) unlockOn(node int, place *Place, args ...string) *Call {
	return &Call{Call: driver.Call{Script: script.QuorumUnlock, Keys: place.unlock[:], Args: args}, Node: node, place: place}
}

// noteToken notes a token that a node has shown, and the tokens reserved with it.
func (b *Ballot) noteToken(token int64) { b.seen = max(b.seen, token+protocol.TokenBlock-1) }

// tenureOf returns the tenure of a request's id. An unknown id has ended.
func (b *Ballot) tenureOf(r *Request) *tenure {
	if t := b.tenures[r.ID]; t != nil {
		return t
	}
	return &tenure{id: r.ID, place: r.Place, phase: ended, expiry: r.Sent.Add(r.Place.TTL)}
}

// begin notes a tenure that is asked for.
func (b *Ballot) begin(r *Request) *tenure {
	if len(b.tenures) > b.sweepFrom { // a lease that nobody releases is forgotten when it has expired
		for _, t := range b.tenures {
			if t.phase != asked && t.expiry.Add(t.place.TTL) < r.Sent {
				b.endTenure(t, r.Sent)
			}
		}
		b.sweepFrom = 2*len(b.tenures) + 64
	}
	t := &tenure{id: r.ID, place: r.Place, expiry: r.Sent.Add(r.Place.TTL)}
	b.tenures[r.ID] = t
	return t
}

// endTenure is the last step of each way in which a tenure ends: from now on its id is only
// remembered.
func (b *Ballot) endTenure(t *tenure, now clock.Instant) {
	if t.phase == ended {
		return
	}
	t.phase = ended
	delete(b.tenures, t.id)
	b.past.Add(t.id, t.place, now, t.place.TTL+time.Minute)
	if t.wanted > now {
		b.yields.note(t.place.Name, t.wanted.Add(b.Random(spread)), now)
	}
}

// beginUnlock returns the unlock of a tenure. It makes one if there is none.
func (b *Ballot) beginUnlock(t *tenure) *unlock {
	t.phase = unlocking
	if t.unlock == nil {
		t.unlock = &unlock{b: b, tenure: t, runs: make([]string, len(b.nodes)), done: make([]bool, len(b.nodes))}
		b.tenures[t.id] = t
	}
	return t.unlock
}

// undo ends an id of ours on all nodes, in the background.
func (b *Ballot) undo(r *Request) {
	t, now := b.tenureOf(r), r.Sent
	until := now.Add(r.Place.TTL)
	if r.Owned {
		until = min(until, t.expiry)
	}
	undecided := t.phase == asked
	b.endTenure(t, now)
	b.undoAll(r.ID, r.Place, r.Owned, until, now, &cleanupGroup{request: r, open: b.need})
	if undecided {
		t.try.giveUp()
	}
}

// undoAll removes an id from all nodes.
func (b *Ballot) undoAll(id string, place *Place, owned bool, until, now clock.Instant, of *cleanupGroup) {
	args := []string{id}
	if owned {
		args = b.unlockArgs(id)
	}
	for i := range b.nodes {
		(&cleanup{b: b, node: i, place: place, args: args, until: until, of: of}).begin(now)
	}
}

// undoOn removes an id that does not hold the name from one node.
func (b *Ballot) undoOn(node int, id string, place *Place, until, now clock.Instant) {
	(&cleanup{b: b, node: node, place: place, args: []string{id}, until: until}).begin(now)
}

// undoStale removes an id of ours from a node that still has it although its tenure has ended. It
// removes only ids that this Client remembers: a cloned machine has our client id and leases of
// its own.
func (b *Ballot) undoStale(on int, id string, now clock.Instant) {
	n, place := b.nodes[on], b.past.Of(id)
	if place == nil || n.stale[id] {
		return
	}
	if n.stale == nil {
		n.stale = map[string]bool{}
	}
	n.stale[id] = true
	b.undoOn(on, id, place, now.Add(place.TTL), now)
}

// afterPoll returns the longest time from the send of one poll until the next poll reaches the
// nodes: a round trip, the pause, and the way to the nodes.
func (b *Ballot) afterPoll() time.Duration { return longestPause + shortestPause + b.twoTrips() }

// unlockArgs returns the arguments of the unlock of an id that held the name: the id, and how long
// the node keeps a mark for this Client after the mark of another Client has expired.
func (b *Ballot) unlockArgs(id string) []string {
	return []string{id, wire.Millis(spread + b.twoTrips())}
}

// twoTrips returns twice the usual round trip to the slowest node that is not silent.
func (b *Ballot) twoTrips() time.Duration {
	slowest := time.Duration(0)
	for _, n := range b.nodes {
		switch {
		case n.silent.Load():
		case n.roundTrip == 0:
			slowest = max(slowest, unknownTrip)
		default:
			slowest = max(slowest, n.roundTrip)
		}
	}
	return 2 * min(slowest, longestTrip)
}

// yield notes that a waiter of another Client polls a name that was released here.
func (b *Ballot) yield(place *Place, a wire.Answer, now clock.Instant) {
	if a.PTTL > 0 {
		b.yields.note(place.Name, now.Add(min(a.PTTL, protocol.MaxComeBack)).Add(b.Random(spread)), now)
	}
}

// pause returns the time until the next poll of a waiter that found the name held.
func (b *Ballot) pause() time.Duration {
	return shortestPause + b.Random(longestPause-shortestPause)
}
