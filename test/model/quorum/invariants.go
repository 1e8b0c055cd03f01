package quorum

import (
	"fmt"
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

func violate(w *world, what uint8) { w.Bad = what }

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
