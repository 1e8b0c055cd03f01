// Package master is a model of the protocol on one master: the scripts lock,
// unlock, cancel and renew with their hand-over, as internal/script/mutex/*.lua has
// them, and of each process the line of one name, as local_name.go, ask.go, renew.go
// and subscriber.go have it. docs/protocol.md is what it checks; each function says
// which script or rule it is. spec/README.md says what it leaves out.
//
// Time goes in ticks of the server's clock. All times are kept as what is left
// or what has passed, never as dates, tokens as distances from the newest one
// used, and an id that nothing speaks of any more serves again: so there are
// finitely many states, though nothing limits how long a history is.
package master

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/lab/model"
)

const (
	maxProcs = 3
	slots    = 4 // ids of one process that something still speaks of
	maxNet   = 6 // messages under way
	maxQueue = 6
)

// id names a tenure: 1 + process × slots + slot; 0 is nobody.
// What must hold of it stands in invariants.go.
type id uint8

func idOf(p, slot int) id { return id(1 + p*slots + slot) }
func (i id) proc() int    { return int(i-1) / slots }
func (i id) slot() int    { return int(i-1) % slots }

// Phases of a tenure, as in tenure.go. What is over or past is noted elsewhere.
const (
	none uint8 = iota
	asked
	queued
	holding
	leaving
)

// What a process knows of its subscription, as in subscriber.go.
const (
	unwanted uint8 = iota
	opening
	up
)

// Proc is one process: the line of the name there, and what it remembers.
// Its canonical form stands in canon.go.
type Proc struct {
	Dead   bool
	Frozen bool

	Come    uint8 // callers that ever came, for Bounds.Callers
	Callers uint8 // that stand in the local line
	Turn    bool  // a caller has the lease; it believes in it while Left > 0
	Held    int8  // ticks since that turn began; timed bounds only

	ID    id // the tenure
	Fresh id // the id that its unlock queues again
	Over  id // a tenure that ended by its deadline and is not released yet
	Phase uint8
	Left  int8 // ticks until the tenure's deadline
	Life  int8 // what the script set last
	Gone  int8 // ticks until its L must have expired

	First      int8 // ticks since the first request for ID was sent
	FreshFirst int8 // for Fresh
	Subscribed int8 // ticks since the SUBSCRIBE of the subscription was sent
	Lag        int8 // the pair: ticks from sending the newest answered lock to its run; -1: none
	Score      int8 // arrival, when Bounds.Breaks; 0: not known
	Keep       bool // the next lock carries Score
	Listed     bool

	Tokens   tokens
	Recalled bool  // the line is fixed
	Serve    uint8 // callers that still get their turn then
	Early    bool  // a recall came before the grant
	EarlyToo bool  // the same for Fresh
	Turned   bool  // a turn was given in this tenure
	Heard    bool  // no recall can have gone unheard

	Tried  bool  // a try found the name held
	Waits  bool  // a lock that waits was sent
	Failed bool  // a lock was never answered
	Late   uint8 // grants in a row that were over on arrival
	Topped bool  // renewed since too little life was left for a turn

	Wake uint8
	Look int8 // ticks until lock is repeated; timed bounds only
	Due  int8 // ticks until the next renewal; timed bounds only

	Used [slots]uint8 // what is known of each id
}

// What is known of an id of one's own: nothing, or that it is made, and which
// clean-ups of it are not answered yet.
const (
	known      uint8 = 1
	owesUnlock uint8 = 2
	owesCancel uint8 = 4  // 4, 8: one, two
	unseen     uint8 = 16 // a ghost that nobody was told of: it may stay for a ttl
	robbed     uint8 = 32 // its L was deleted by an accident: nothing is promised to it
	owes             = owesUnlock | 3*owesCancel
)

// tokens are the strides of a tenure, as in tenure.go: counted from the newest
// token that anybody used, which is 0. How they are counted stands in server.go.
type tokens struct {
	Next, End       int8
	Spare, SpareEnd int8
}

const oldest = -1 // tokens below are one: they may not be used anyway

// State is everything. Its canonical form stands in canon.go.
type State struct {
	L     id
	PX    int8 // ticks that L has left
	F     int8
	Q     [maxQueue]id
	Score [maxQueue]int8 // arrivals of those in Q; Bounds.Breaks only
	Sub   [maxProcs]bool // who listens

	P   [maxProcs]Proc
	Net [maxNet]Msg // sorted, the empty ones last

	Lose, Delay, Dup, Crash, Freeze, Break, Evict uint8 // faults so far

	Unclaimed int8           // ticks, from 1, that L is a pushed grant nobody has claimed
	Ahead     [maxProcs]int8 // 1 + grants that may go to others before p is next; 0: nothing is promised
	Waited    int8           // timed bounds: ticks that process 0 has waited
	Idle      int8           // timed bounds: ticks that nobody worked though somebody waits
	Bad       uint8          // a step broke this; see invariants.go
}

// Kinds of messages.
const (
	empty uint8 = iota
	lockReq
	unlockReq
	cancelReq
	renewReq
	subscribeReq
	lockAns // all from here on are for a process
	unlockAns
	cancelAns
	renewAns
	subscribeAns
	grantPush
	nextPush
	recallPush
)

// Flags of a message.
const (
	waits    uint16 = 1 << iota // lock: it waits
	sure                        // sent while the subscription was confirmed, and that has not broken since
	echo                        // a second run of a doubled request: nobody gets its answer
	late                        // its sender has given it up
	lost                        // it will never arrive; its sender does not know yet
	stride                      // renew: it asks for tokens
	listens                     // queued: the id's own channel has a listener
	inserted                    // queued: the id was not in Q before
	slow                        // timed bounds: it may take longer than a message does
)

// Words of answers.
const (
	noWord uint8 = iota
	grantedWord
	heldWord
	queuedWord
	releasedWord
	notHeldWord
	cancelledWord
	renewedWord
	lostWord
)

// Msg is a message under way: a request, an answer or a push.
// Its canonical form stands in canon.go.
type Msg struct {
	Kind  uint8
	ID    id // whose; subscribe: the process's first id
	Fresh id // unlock
	Flags uint16
	Word  uint8
	Age   int8 // ticks since the request was sent, or the push was published
	Hop   int8 // ticks since this very message is under way; timed bounds only
	Base  int8 // of the stride
	Size  int8
	X     int8 // granted: who waits. queued: PTTL. next: PTTL. grant: who waits
	Rank  int8 // queued: the position
	Lag   int8 // queued: ticks between the sending and the run
	Score int8 // lock: the kept arrival. queued: the arrival
}

func (m *Msg) has(flag uint16) bool { return m.Flags&flag != 0 }

// to is the process that gets an answer or a push.
func (m *Msg) to() int { return m.ID.proc() }

func (m *Msg) request() bool { return m.Kind < lockAns }
func (m *Msg) push() bool    { return m.Kind >= grantPush }

// Model is the protocol within bounds, perhaps with a guard taken out.
// Its steps stand in next.go.
type Model struct {
	Bounds
	Mutant Mutant
}

var _ model.Model[State] = (*Model)(nil)

// Start is a free name and processes that never asked for anything.
func (m *Model) Start() State {
	var s State
	for p := range s.P {
		s.P[p].reset()
	}
	return s
}

// Canon gives ids and processes the names they get by where they stand, and of
// all orders of the processes takes the least. In timed bounds process 0 is the
// one that is watched, and keeps its place.
func (m *Model) Canon(s *State) {
	for p := range s.P[:m.Procs] {
		s.renameIDs(p)
	}
	if m.Break > 0 {
		s.rankScores()
	}
	s.sortNet()
	first := 0
	if m.Wait > 0 {
		first = 1
	}
	best := *s
	for _, swap := range orders[m.Procs-first] {
		other := *s
		other.swap(first, swap)
		if other.compare(&best) < 0 {
			best = other
		}
	}
	*s = best
}

func (m *Model) window() int8 {
	if m.Mutant == NoWindow {
		return m.TTL
	}
	return m.Window
}

// Broken names the invariant that s breaks.
func (m *Model) Broken(s *State) string {
	if s.Bad != 0 {
		return broken[s.Bad]
	}
	believers := 0
	for p := range s.P[:m.Procs] {
		if c := &s.P[p]; !c.Dead && c.Turn && c.Left > 0 && !robbedOf(c) {
			believers++
		}
	}
	if believers > 1 {
		return brokenS1
	}
	for p := range s.P[:m.Procs] {
		c := &s.P[p]
		if !c.Dead && c.Phase == holding && c.Left > 0 && !robbedOf(c) && (s.L != c.ID || s.PX < c.Left) {
			return brokenBelief
		}
	}
	if s.Unclaimed > m.Window {
		return brokenWindow
	}
	if m.littered(s) {
		return brokenL2
	}
	return ""
}

// Print shows a state: the server, the processes, what is under way.
func (m *Model) Print(s *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "       L=%v for %d  F=%d  Q=", s.L, s.PX, s.F)
	for _, i := range s.Q {
		if i != 0 {
			fmt.Fprintf(&b, "%v ", i)
		}
	}
	b.WriteString("\n")
	for p := range s.P[:m.Procs] {
		c := &s.P[p]
		fmt.Fprintf(&b, "       %s: ", Who(p))
		if c.Dead {
			b.WriteString("dead\n")
			continue
		}
		fmt.Fprintf(&b, "%v %s", c.ID, phases[c.Phase])
		if c.Turn {
			b.WriteString(", a turn is out")
		}
		if c.Phase == holding {
			fmt.Fprintf(&b, ", %d to its deadline, tokens %d to %d", c.Left, c.Tokens.Next, c.Tokens.End-1)
		}
		fmt.Fprintf(&b, ", %d in line", c.Callers)
		if c.Fresh != 0 {
			fmt.Fprintf(&b, ", fresh %v", c.Fresh)
		}
		if c.Over != 0 {
			fmt.Fprintf(&b, ", %v is over", c.Over)
		}
		if c.Recalled {
			fmt.Fprintf(&b, ", recalled, %d to serve", c.Serve)
		}
		if c.Frozen {
			b.WriteString(", frozen")
		}
		if c.Wake > unwanted {
			fmt.Fprintf(&b, ", subscribed: here %v, there %v", c.Wake == up, s.Sub[p])
		}
		b.WriteString("\n")
	}
	for k := range s.Net {
		if msg := &s.Net[k]; msg.Kind != empty {
			fmt.Fprintf(&b, "       under way: %s%s %v, age %d%s\n", kinds[msg.Kind], words[msg.Word], msg.ID, msg.Age, moreOf(msg))
		}
	}
	return b.String()
}

// littered: all the living have gone home, and nothing is under way. What is in
// L or Q then, of theirs, was left behind. A lock that runs when its id was given
// up, answered and forgotten may leave a ghost for a ttl; that is said in
// docs/protocol.md.
func (m *Model) littered(s *State) bool {
	if s.Net[0].Kind != empty {
		return false
	}
	for p := range s.P[:m.Procs] {
		c := &s.P[p]
		if c.Dead {
			continue
		}
		if c.Callers > 0 || c.ID != 0 || c.Over != 0 {
			return false
		}
		for _, u := range c.Used {
			if u&owes != 0 {
				return false
			}
		}
	}
	if leftIn(s, s.L) {
		return true
	}
	for _, i := range s.Q {
		if leftIn(s, i) {
			return true
		}
	}
	return false
}

// reset forgets what belongs to one tenure.
func (c *Proc) reset() {
	c.ID, c.Phase = 0, none
	c.Left, c.Gone, c.First, c.Score, c.Lag = 0, 0, 0, 0, -1
	c.Life = 0
	c.Keep, c.Listed = false, false
	c.Tokens = tokens{oldest, oldest, oldest, oldest}
	c.Recalled, c.Serve, c.Early, c.Turned, c.Heard = false, 0, false, false, false
	c.Tried, c.Waits, c.Failed, c.Late, c.Topped = false, false, false, 0, false
	c.Look, c.Due = 0, 0
}
