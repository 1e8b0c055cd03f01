package machine

import (
	"fmt"
	"slices"
	"strings"
)

// What a step can break.
const (
	twoHolders    = "S1: two leases are believed in at once"
	beliefTooLong = "S1: a holder believes longer than the lock key lives"
	tokenFell     = "S2: a token is used that is not above all used before"
	revivedLease  = "S3: a lease that was over is held again"
	overtaken     = "L1: more came before a waiter than stood before it"
	deadChosen    = "L1: a dead process was granted the name, which costs a claim window"
	windowTooLong = "claim window: a grant that nobody claimed blocks the name"
	waitsTooLong  = "L1: a living waiter got no turn in time"
	outageHere    = "outage: the store seems unreachable although this Client holds the name"
	outageMissed  = "outage: a request has no answer, and the name seems busy"
	leftBehind    = "L2: nobody wants the name, all is done, and something is left behind"
)

// check looks whether an invariant is broken.
func (w *world) check() {
	for p, pr := range w.procs {
		if id := w.server.aheadOf[p]; id != "" && !pr.wants(id) {
			w.server.promiseNothing(p)
		}
	}
	believers := 0
	for _, pr := range w.procs {
		if pr.dead {
			continue
		}
		for _, t := range pr.turns {
			believes := t.Ended.Load() == nil && w.now < t.Ends()
			if believes && slices.Contains(w.over, t.Token) {
				w.breaks(revivedLease)
			}
			if believes && !slices.Contains(w.robbed, t.Tenure.ID) {
				believers++
			}
		}
		for _, n := range pr.p.names {
			t := n.tenure
			if t != nil && t.phase == holding && w.now < t.Ends() && !slices.Contains(w.robbed, t.ID) &&
				(w.server.lock != t.ID || w.server.expires < t.Ends()) {
				w.breaks(beliefTooLong)
			}
			pr.checkOutage(n)
		}
		if wrong := pr.p.check(); wrong != "" {
			w.breaks(wrong)
		}
	}
	if believers > 1 {
		w.breaks(twoHolders)
	}
	if w.littered() {
		w.breaks(leftBehind)
	}
}

// checkOutage looks what a waiter would be told whose deadline ends now.
func (pr *searchProc) checkOutage(n *Name) {
	first, t := n.waiters.first, n.tenure
	if first == nil || t == nil {
		return
	}
	why := first.Outage(pr.w.now)
	if why != nil && t.phase == holding {
		pr.w.breaks(outageHere)
	}
	r := t.asking
	if t.phase == releasing {
		r = t.unlocking
	}
	if why == nil && r != nil && pr.heard < r.Sent && pr.w.now >= r.Sent.Add(silentAfter) {
		pr.w.breaks(outageMissed)
	}
}

// littered: all the living have gone home, and nothing is under way. What is in the lock key or
// the queue then, of theirs, was left behind.
func (w *world) littered() bool {
	if len(w.net) > 0 {
		return false
	}
	for _, pr := range w.procs {
		if !pr.dead && (len(pr.p.names)+len(pr.p.tenures)+len(pr.p.cleanups)+len(pr.turns)+len(pr.waiting) > 0) {
			return false
		}
	}
	living := func(id string) bool { return !w.procs[w.procOf(id)].dead && !slices.Contains(w.unseen, id) }
	return w.server.lock != "" && living(w.server.lock) || slices.ContainsFunc(w.server.queue, func(p place) bool { return living(p.id) })
}

// print shows a state in a few lines.
func (w *world) print() string {
	var b strings.Builder
	s := &w.server
	fmt.Fprintf(&b, "       lock=%s", w.idText(s.lock))
	if s.lock != "" {
		fmt.Fprintf(&b, " for %v", s.pttl(w.now))
	}
	fmt.Fprintf(&b, " fence=%d queue=", s.fence)
	for _, q := range s.queue {
		fmt.Fprintf(&b, "%s ", w.idText(q.id))
	}
	b.WriteString("\n")
	for _, pr := range w.procs {
		fmt.Fprintf(&b, "       %c: ", 'A'+pr.n)
		if pr.dead {
			b.WriteString("dead\n")
			continue
		}
		for _, n := range pr.p.names {
			if t := n.tenure; t != nil {
				fmt.Fprintf(&b, "%s %s", w.idText(t.ID), phaseText(t.phase))
				if t.phase == holding {
					fmt.Fprintf(&b, ", %v to its deadline", t.Ends().Sub(w.now))
				}
				if t.successor != nil {
					fmt.Fprintf(&b, ", successor %s", w.idText(t.successor.ID))
				}
			}
			if n.turn != nil {
				b.WriteString(", a turn is out")
			}
			fmt.Fprintf(&b, ", %d wait", n.waiters.n)
			if n.askAt > 0 {
				fmt.Fprintf(&b, ", asks in %v", n.askAt.Sub(w.now))
			}
		}
		if n := len(pr.p.cleanups); n > 0 {
			fmt.Fprintf(&b, ", %d cleanups", n)
		}
		if pr.frozen {
			b.WriteString(", frozen")
		}
		if pr.open {
			fmt.Fprintf(&b, ", subscribed: here %v, there %v", pr.p.sub.Confirmed, s.listens[pr.n] == pr.p.sub.attempt)
		}
		b.WriteString("\n")
	}
	for _, m := range w.net {
		fmt.Fprintf(&b, "       under way: %s\n", w.messageText(m))
	}
	return b.String()
}

func phaseText(p phase) string {
	return [...]string{"asked", "queued", "holding", "releasing", "unreleased", "ended"}[p]
}

// idText names an id by its process and its number.
func (w *world) idText(id string) string {
	if id == "" {
		return "-"
	}
	p := w.procOf(id)
	return fmt.Sprintf("%c%d", 'a'+p, ageOf(id)-uint64(p)*2000-2)
}

func (w *world) messageText(m *message) string {
	text := ""
	switch m.kind {
	case requestMessage:
		text = m.call.Script.Name
		for _, a := range m.call.Args {
			if strings.Contains(a, "|") {
				a = w.idText(a)
			}
			text += " " + a
		}
	case answerMessage:
		text = "answer to " + m.r.Call.Script.Name + " " + w.idText(m.r.Call.Args[0]) + ": " + m.said.word
		if m.fails {
			text = "failure of " + m.r.Call.Script.Name + " " + w.idText(m.r.Call.Args[0])
		}
	case silence:
		text = "nothing"
		if m.r != nil {
			text += " to " + m.r.Call.Script.Name + " " + w.idText(m.r.Call.Args[0])
		}
	case pushMessage:
		text = "push " + m.said.word + " " + w.idText(m.said.id)
	case subscribeMessage:
		text = "subscribe"
	case subscribedMessage:
		text = "subscribed"
	}
	if m.slow {
		text += ", slow"
	}
	if m.kind == requestMessage && m.r == nil {
		text += ", nobody waits for its answer"
	}
	return text
}
