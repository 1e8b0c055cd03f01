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

// Kind is what a request asks for.
type Kind int

// The kinds of a request. The package comment has their answers.
const (
	Lock Kind = iota
	Renew
	Held
	Unlock
	Undo
)

// Request is one question to all nodes. It must not be changed after Ask.
type Request struct {
	Kind    Kind
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

// id is that of the tenure that the call is about.
func (c *Call) id() string { return c.Args[0] }

// part is a part of a Ballot that waits for the answer to a call.
type part interface {
	answered(c *Call, a wire.Answer, err error, now clock.Instant)
}

// Host is what a Ballot calls. A method may call Ask, but not Answered and Tick. The
// Ballot does not expect any result.
type Host interface {
	// Send has a node run a script. Its result, or an error, must come back by Answered.
	Send(c *Call)
	// Answer is the answer to a request.
	Answer(r *Request, a wire.Answer, err error, now clock.Instant)
	// Failed means that a node refused for good to undo what it has of a name.
	Failed(name string, c *Call, err error)
}

// stand is where a tenure stands.
type stand int

const (
	asked     stand = iota // its try is not decided
	held                   // a majority has it
	unlocking              // Unlock was asked
	ended                  // lost, released or given up
)

// tenure is what is known of one id.
type tenure struct {
	id     string
	place  *Place
	stand  stand
	try    *try
	token  int64         // the majority's
	ends   clock.Instant // its deadline
	expiry clock.Instant // by when the nodes forget it, unless it is renewed
	wanted clock.Instant // until when another place of this Client has polled for it
	unlock *unlock
}

// confirmed notes that a majority has it for the ttl from start.
func (t *tenure) confirmed(start clock.Instant) {
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

// Ballot is what a Client knows of the nodes of its quorum. It is not safe for concurrent use.
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

// New returns a Ballot of nodes that nothing is known of.
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
	case r.Kind == Lock:
		(&try{b: b, request: r, tenure: b.begin(r)}).begin()
	case r.Kind == Renew || r.Kind == Held:
		(&renewal{b: b, request: r, tenure: b.tenureOf(r)}).begin()
	case r.Kind == Unlock:
		(&round{unlock: b.unlocked(b.tenureOf(r)), request: r}).begin()
	case r.Kind == Undo:
		b.undo(r)
	}
}

// Answered takes the answer of a node to a call, or why there is none. err is ErrNotSent, if it
// is sure that the node was not asked.
func (b *Ballot) Answered(c *Call, a wire.Answer, err error, now clock.Instant) {
	b.nodes[c.Node].returned(c.Sent, err, now)
	if !b.closed {
		c.part.answered(c, a, err, now)
		return
	}
	switch c.Script {
	case script.QuorumLock, script.QuorumRepair: // it may have run after its unlock
		b.owed = append(b.owed, b.unlockOn(c.Node, c.place, c.id()))
	case script.QuorumUnlock:
		if err != nil && wire.Transient(err) { // the others have sufficed
			b.owed = append(b.owed, c)
		}
	}
}

// Dropped takes back a call that was not sent before Close. An unlock may be all that is left of
// a lease that was released: it stays owed.
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
	for range 512 { // others want the mutex too
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

// Close ends the Ballot: no request is answered any more. What all tenures, all cleanups and all
// silent nodes are owed becomes Owed. Answered and Dropped still take what comes back.
func (b *Ballot) Close(now clock.Instant) {
	b.closed, b.timers = true, clock.Timers{}
	for id, t := range b.tenures {
		if t.stand != asked && t.expiry.Add(t.place.TTL) < now {
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

// Owed returns the calls that end, on each node, what this Client may have there. It returns each
// once. More may become owed while calls of before Close come back.
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

// Grace is how long Close waits for a node after a majority has confirmed: as long as a try
// would. A silent node gets as long as it takes to send what it is owed.
func (b *Ballot) Grace(node int, toSend time.Duration) time.Duration {
	if n := b.nodes[node]; !n.silent.Load() {
		return n.patience(b.Attempt)
	}
	return toSend
}

// send has a node run a script.
func (b *Ballot) send(to int, s *driver.Script, place *Place, args []string, now clock.Instant, attempt time.Duration, part part) {
	c := &Call{
		Call: driver.Call{Script: s, Keys: place.keys(s), Args: args},
		Node: to, Sent: now, Attempt: attempt, part: part, place: place,
	}
	b.nodes[to].asked(b.Attempt, now)
	b.host.Send(c)
}

// unlockOn is a call that takes an id off one node, for Close.
func (b *Ballot) unlockOn(node int, place *Place, args ...string) *Call {
	return &Call{Call: driver.Call{Script: script.QuorumUnlock, Keys: place.unlock[:], Args: args}, Node: node, place: place}
}

// saw notes a token that was seen on a node, with those that were reserved by it.
func (b *Ballot) saw(token int64) { b.seen = max(b.seen, token+protocol.TokenBlock-1) }

// tenureOf is what is known of the id of a request.
func (b *Ballot) tenureOf(r *Request) *tenure {
	if t := b.tenures[r.ID]; t != nil {
		return t
	}
	return &tenure{id: r.ID, place: r.Place, stand: ended, expiry: r.Sent.Add(r.Place.TTL)}
}

// begin notes a tenure that is asked for.
func (b *Ballot) begin(r *Request) *tenure {
	if len(b.tenures) > b.sweepFrom { // a lease that nobody releases is forgotten when it has expired
		for _, t := range b.tenures {
			if t.stand != asked && t.expiry.Add(t.place.TTL) < r.Sent {
				b.end(t, r.Sent)
			}
		}
		b.sweepFrom = 2*len(b.tenures) + 64
	}
	t := &tenure{id: r.ID, place: r.Place, expiry: r.Sent.Add(r.Place.TTL)}
	b.tenures[r.ID] = t
	return t
}

// end makes an id past: from now on it is only remembered.
func (b *Ballot) end(t *tenure, now clock.Instant) {
	if t.stand == ended {
		return
	}
	t.stand = ended
	delete(b.tenures, t.id)
	b.past.Add(t.id, t.place, now, t.place.TTL+time.Minute)
	if t.wanted > now {
		b.yields.note(t.place.Name, t.wanted.Add(b.Random(spread)), now)
	}
}

// unlocked notes that a tenure is being unlocked.
func (b *Ballot) unlocked(t *tenure) *unlock {
	t.stand = unlocking
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
	given := t.stand == asked
	b.end(t, now)
	b.undoAll(r.ID, r.Place, r.Owned, until, now, &cleanupGroup{request: r, open: b.need})
	if given {
		t.try.giveUp()
	}
}

// undoAll takes an id off all nodes.
func (b *Ballot) undoAll(id string, place *Place, owned bool, until, now clock.Instant, of *cleanupGroup) {
	args := []string{id}
	if owned {
		args = b.unlockArgs(id)
	}
	for i := range b.nodes {
		(&cleanup{b: b, node: i, place: place, args: args, until: until, of: of}).begin(now)
	}
}

// undoOn takes an id that was not the holder's off one node.
func (b *Ballot) undoOn(node int, id string, place *Place, until, now clock.Instant) {
	(&cleanup{b: b, node: node, place: place, args: []string{id}, until: until}).begin(now)
}

// undoStale ends an id of ours on a node that still has it, though the tenure is past. Only ids
// that this Client remembers count: a cloned machine has our Client, and leases of its own.
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

// afterPoll is the time within which the poll that follows one which is sent now reaches the
// nodes: what is left of this one's round trip, the pause, and the way there.
func (b *Ballot) afterPoll() time.Duration { return longestPause + shortestPause + b.twoTrips() }

// unlockArgs are those of the unlock of an id that held the name. If the node has a mark, this
// Client is back that long after the end of it.
func (b *Ballot) unlockArgs(id string) []string {
	return []string{id, wire.Millis(spread + b.twoTrips())}
}

// twoTrips is twice the usual round trip to the slowest node that is not silent.
func (b *Ballot) twoTrips() time.Duration {
	slowest := time.Duration(0)
	for _, n := range b.nodes {
		switch {
		case n.silent.Load():
		case n.usual == 0:
			slowest = max(slowest, unknownTrip)
		default:
			slowest = max(slowest, n.usual)
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

// pause is how long a waiter that found the name held waits before it polls again.
func (b *Ballot) pause() time.Duration {
	return shortestPause + b.Random(longestPause-shortestPause)
}
