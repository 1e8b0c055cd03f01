package master

import (
	"fmt"
	"strings"
)

// What a step can break.
const (
	tokenFell uint8 = 1 + iota
	overtaken
	deadChosen
	revived
	starved
	stuck
)

var broken = [...]string{
	tokenFell:  "S2: a token is used that is not above all used before",
	overtaken:  "L1: more came before a waiter than stood before it",
	deadChosen: "L1: a dead process was granted the name, which costs a claim window",
	revived:    "S3: a lease that was over is held again",
	starved:    "L1: a living waiter got no turn in time",
	stuck:      "no lost wake-up: somebody waits, nobody works, for too long",
}

// The names of the invariants that a state can break by itself.
const (
	brokenS1     = "S1: two leases are believed in at once"
	brokenBelief = "S1: a holder believes longer than L lives"
	brokenWindow = "claim window: a grant that nobody claimed blocks the name"
	brokenL2     = "L2: nobody wants the name, all is done, and something is left behind"
)

func (w *world) violate(what uint8) {
	if w.Bad == 0 {
		w.Bad = what
	}
}

// Broken names the invariant that s breaks.
func (m *Model) Broken(s *State) string {
	if s.Bad != 0 {
		return broken[s.Bad]
	}
	believers := 0
	for p := range s.P[:m.Procs] {
		if c := &s.P[p]; !c.Dead && c.Turn && c.Left > 0 && !c.robbed() {
			believers++
		}
	}
	if believers > 1 {
		return brokenS1
	}
	for p := range s.P[:m.Procs] {
		c := &s.P[p]
		if !c.Dead && c.Phase == holding && c.Left > 0 && !c.robbed() && (s.L != c.ID || s.PX < c.Left) {
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

func (c *Proc) robbed() bool { return c.ID != 0 && c.Used[c.ID.slot()]&robbed != 0 }

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
	if s.left(s.L) {
		return true
	}
	for _, i := range s.Q {
		if s.left(i) {
			return true
		}
	}
	return false
}

// left reports whether an id was left behind by a living process.
func (s *State) left(i id) bool {
	if i == 0 {
		return false
	}
	c := &s.P[i.proc()]
	return !c.Dead && c.Used[i.slot()]&unseen == 0
}

// Who is how traces call who took a step.
func Who(n int) string {
	if n == server {
		return "time"
	}
	return string(rune('A' + n))
}

func (i id) String() string {
	if i == 0 {
		return "-"
	}
	return fmt.Sprintf("%c%d", 'a'+i.proc(), i.slot())
}

var phases = [...]string{none: "nothing", asked: "asked", queued: "queued", holding: "holding", leaving: "leaving"}

var kinds = [...]string{lockReq: "lock", unlockReq: "unlock", cancelReq: "cancel", renewReq: "renew", subscribeReq: "subscribe",
	lockAns: "lock answered", unlockAns: "unlock answered", cancelAns: "cancel answered", renewAns: "renew answered",
	subscribeAns: "subscribed", grantPush: "grant", nextPush: "next", recallPush: "recall"}

var words = [...]string{noWord: "", grantedWord: " granted", heldWord: " held", queuedWord: " queued", releasedWord: " released",
	notHeldWord: " not held", cancelledWord: "", renewedWord: " renewed", lostWord: " lost"}

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
			fmt.Fprintf(&b, "       under way: %s%s %v, age %d%s\n", kinds[msg.Kind], words[msg.Word], msg.ID, msg.Age, msg.more())
		}
	}
	return b.String()
}

func (m *Msg) more() string {
	text := ""
	if m.Fresh != 0 {
		text += fmt.Sprintf(", fresh %v", m.Fresh)
	}
	if m.Size > 0 {
		text += fmt.Sprintf(", tokens %d to %d", m.Base, m.Base+m.Size-1)
	}
	if m.Kind == lockReq && m.has(waits) {
		text += ", wait"
	}
	if m.has(echo) {
		text += ", nobody waits for its answer"
	}
	if m.has(late) {
		text += ", given up"
	}
	if m.has(lost) {
		text += ", lost"
	}
	return text
}
