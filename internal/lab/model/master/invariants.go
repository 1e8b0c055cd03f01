package master

import (
	"fmt"
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

func violate(w *world, what uint8) {
	if w.Bad == 0 {
		w.Bad = what
	}
}

func robbedOf(c *Proc) bool { return c.ID != 0 && c.Used[c.ID.slot()]&robbed != 0 }

// leftIn reports whether an id was left behind by a living process.
func leftIn(s *State, i id) bool {
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
	subscribeAns: "subscribed", grantPush: "grant", nextPush: "head", recallPush: "recall"}

var words = [...]string{noWord: "", grantedWord: " granted", heldWord: " held", queuedWord: " queued", releasedWord: " released",
	notHeldWord: " not held", cancelledWord: "", renewedWord: " renewed", lostWord: " lost"}

func moreOf(m *Msg) string {
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
