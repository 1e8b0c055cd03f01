// Package quorum is a model of the protocol on a quorum of masters: the votes,
// raises, renewals, repairs and unlocks of internal/script/quorum/*.lua, and of
// each client what internal/ballot makes of the answers.
// docs/quorum.md is what it checks; each function says which script or rule it
// is. spec/README.md says what it leaves out.
//
// Any request may run and any answer may be heard however late, or never; there
// are only so many tries and so much time. Nodes that are alike are sorted, so
// that histories which differ only in which node is which are one.
package quorum

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/model"
)

const (
	maxNodes = 5
	maxTries = 3
)

// What became of a lock sent to a node.
const (
	unsent  uint8 = iota // or nobody cares any more
	sent                 // it may run at any time
	granted              // it ran, and gave C; the answer may be heard at any time
	heard                // and was
	raising              // raise was sent, since C is below T
	raised               // raise ran: its answer may be heard at any time
	counts               // C is T, or raise was answered
	out                  // refused, or it gave more than T: it can't count
)

// What became of a renewal sent to a node.
const (
	noRenewal    uint8 = iota
	renewSent          // it may run at any time
	renewedThere       // it ran
	lostThere          // it found L another's
	emptyThere         // it found L empty
	renewedHeard
	lostHeard
	emptyHeard
	repairSent // repair may run at any time
)

// Vote is what a try and a node have to do with each other.
// What must hold of it stands in invariants.go.
type Vote struct {
	Lock   uint8
	C      int8 // that the node gave
	Given  int8 // raise was sent with this C; 0: none is under way
	Raise  int8 // and with this T
	Undo   bool // unlock may run at any time
	Twin   bool // a second run of lock may come at any time
	Renew  uint8
	Repair bool // it ran, and nobody knows yet
}

// Node is one master. What must hold of it stands in invariants.go.
type Node struct {
	L         uint8 // 1 + the number of the try that has the name; 0: nobody
	C         int8  // the token behind the id
	PX        int8  // ticks that L has left
	F         int8
	Out       int8  // ticks that it gives no vote
	Mark      uint8 // the quorum in which it votes
	Restarted bool  // it has not noticed yet
	Old, New  bool  // which list of members it is on
	Ahead     int8  // of the other clocks, in tokens
	Votes     [maxTries]Vote
}

// Marks of nodes.
const (
	unmarked uint8 = iota
	oldMark
	fencedMark
	newMark
)

// Phases of a try.
const (
	waiting  uint8 = iota
	asking         // lock was sent
	holding        // won
	released       // or given up, or lost
)

// Try is one id: one attempt of a client to win the name.
type Try struct {
	Phase uint8
	Left  int8 // ticks until its lease is over, as its client reckons
	Age   int8 // ticks since the present renewal was sent
	T     int8 // the majority's token
	Turns int8 // given
	Used  int8 // T, once a turn was given; loose bounds only
	Since bool // a renewal is under way
	Times int8 // renewals sent
}

// State is everything.
type State struct {
	Nodes  [maxNodes]Node
	Tries  [maxTries]Try
	Now    int8 // ticks since the beginning
	Newest int8 // token used

	Restart, Dup uint8 // faults so far
	Bad          uint8
}

// Bounds say how large the model is. Times are in ticks.
// Those that are searched stand in bounds.go.
type Bounds struct {
	Name  string
	Nodes int
	// Client says whose try each is: a client begins one when its last is over.
	Client []uint8
	// Wants says which quorum each try is for, with Replace: oldMark or newMark.
	Wants   []uint8
	TTL     int8
	SitOut  int8
	Horizon int8 // ticks in all
	Rate    int8 // tokens that the clock goes on in a tick
	Clamp   int8 // tokens
	Turns   int8 // tokens of a vote, and turns of a tenure
	Ahead   int8 // how far the clock of the last node is ahead, in tokens
	Far     bool // the clocks of the clients of odd number are far ahead, else behind
	Renew   int8 // renewals of the first try
	Repair  bool
	Restart uint8 // nodes that are restarted
	Keep    bool  // with all their data
	Forget  bool  // without what they wrote last: L and F, not the marker
	Empty   bool  // without anything
	Dup     uint8 // locks that run twice
	Loose   bool  // L ends on any node at any time, and no lease by itself: only tokens are looked at then
	Lean    bool  // only leases are looked at: no turns, and no try is given up by choice
	Replace bool  // the quorum is replaced: of five nodes the old list is the first three, the new one the last three
}

// Model is the protocol within bounds, perhaps with a guard taken out.
// Its steps stand in next.go.
type Model struct {
	Bounds
	Mutant Mutant
}

var _ model.Model[State] = (*Model)(nil)

// Start is a free name on nodes that all vote.
func (m *Model) Start() State {
	var s State
	for i := range m.Nodes {
		n := &s.Nodes[i]
		n.Mark, n.Old = oldMark, true
		if m.Replace {
			n.Old, n.New = i < 3, i >= 2
			if !n.Old {
				n.Mark = unmarked
			}
		}
	}
	s.Nodes[m.Nodes-1].Ahead = m.Ahead
	return s
}

// member reports whether a try asks a node.
func (m *Model) member(n *Node, try int) bool {
	if m.wants(try) == newMark {
		return n.New
	}
	return n.Old
}

func (m *Model) wants(try int) uint8 {
	if m.Wants == nil {
		return oldMark
	}
	return m.Wants[try]
}

// need is a majority of a list of members.
func (m *Model) need() int {
	if m.Replace {
		return 2
	}
	return m.Nodes/2 + 1
}

// clock is a node's time, in tokens.
func (m *Model) clock(s *State, n *Node) int8 { return 2 + s.Now*m.Rate + n.Ahead }

// Broken names the invariant that s breaks.
func (m *Model) Broken(s *State) string {
	switch s.Bad {
	case tokenFell:
		return brokenS2
	case tokenTwice:
		return brokenTwice
	}
	believers := 0
	for k := range s.Tries {
		if t := &s.Tries[k]; t.Phase == holding && t.Left > 0 {
			believers++
		}
	}
	if believers > 1 && !m.Loose {
		return brokenS1
	}
	return ""
}

// Canon sorts nodes: each bears all that is said of it.
func (m *Model) Canon(s *State) {
	var keys [maxNodes][72]byte
	order := [maxNodes]int{0, 1, 2, 3, 4}
	for i := range m.Nodes {
		s.Nodes[i].key(keys[i][:0])
		keys[i] = [72]byte{}
		copy(keys[i][:], s.Nodes[i].key(make([]byte, 0, 72)))
	}
	nodes := order[:m.Nodes]
	slices.SortFunc(nodes, func(a, b int) int { return bytes.Compare(keys[a][:], keys[b][:]) })
	old := s.Nodes
	for i, k := range nodes {
		s.Nodes[i] = old[k]
	}
}

// Print shows a state: tries, nodes, what is under way.
func (m *Model) Print(s *State) string {
	var b strings.Builder
	for k, c := range m.Client {
		t := &s.Tries[k]
		fmt.Fprintf(&b, "       try %d of %c %s", k+1, 'A'+c, phases[t.Phase])
		if t.Phase == asking || t.Phase == holding {
			fmt.Fprintf(&b, ", T=%d, %d left, %d turns", t.T, t.Left, t.Turns)
		}
		b.WriteString("\n")
	}
	for i := range s.Nodes[:m.Nodes] {
		n := &s.Nodes[i]
		fmt.Fprintf(&b, "       node: ")
		if n.L == 0 {
			b.WriteString("L is empty")
		} else {
			fmt.Fprintf(&b, "L=try %d:%d for %d", n.L, n.C, n.PX)
		}
		fmt.Fprintf(&b, " F=%d", n.F)
		if n.Out > 0 {
			fmt.Fprintf(&b, " no vote %d", n.Out)
		}
		for k := range m.Client {
			v := &n.Votes[k]
			if words := v.words(); words != "" {
				fmt.Fprintf(&b, "; try %d:%s", k+1, words)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
