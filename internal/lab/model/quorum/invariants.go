package quorum

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const (
	tokenFell uint8 = 1 + iota
	tokenTwice
)

// The names of the invariants.
const (
	brokenS1    = "S1: two leases are believed in at once"
	brokenS2    = "S2: a token is used that is not above all used before"
	brokenTwice = "S2: two leases have one token"
)

func (w *world) violate(what uint8) { w.Bad = what }

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

// key orders nodes.
func (n *Node) key(b []byte) []byte {
	bit := func(f bool, v byte) byte {
		if f {
			return v
		}
		return 0
	}
	b = append(b, n.L, byte(n.C), byte(n.PX), byte(n.F), byte(n.Out), n.Mark, byte(n.Ahead), bit(n.Restarted, 1)|bit(n.Old, 2)|bit(n.New, 4))
	for k := range n.Votes {
		v := &n.Votes[k]
		b = append(b, v.Lock, byte(v.C), byte(v.Given), byte(v.Raise), bit(v.Undo, 1)|bit(v.Twin, 2)|bit(v.Repair, 4), v.Renew)
	}
	return b
}

// Who is how traces call who took a step.
func Who(n int) string {
	if n == nobody {
		return "nobody"
	}
	return fmt.Sprintf("try %d", n+1)
}

var phases = [...]string{waiting: "waits", asking: "asks", holding: "holds", released: "is over"}

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
			fmt.Fprintf(&b, " sits out %d", n.Out)
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

func (v *Vote) words() string {
	text := [...]string{"", " lock under way", " granted under way", " granted", " raise under way", " raised under way", " counts", ""}[v.Lock]
	if v.Lock == granted || v.Lock == heard {
		text += fmt.Sprintf(" %d", v.C)
	}
	if v.Undo {
		text += " unlock under way"
	}
	if v.Twin {
		text += " second lock under way"
	}
	return text + [...]string{"", " renew under way", " renewed under way", " lost under way", " lost under way", " renewed", " lost", " lost", " repair under way"}[v.Renew]
}
