package machine

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// step is one thing that can happen.
type step struct {
	what stepKind
	at   uint8 // which message, or process
	of   uint8 // which of what it has
}

type stepKind uint8

const (
	timePasses stepKind = iota
	runs
	arrives
	isLost
	connectionFails
	isDelayed
	isDoubled
	givesUpAnswer
	crashes
	freezes
	thaws
	dropsSubscription
	noticesBreak
	timersFire
	callerComes
	callerGivesUp
	releases
	evicts
)

// next are all steps that can follow. Time stands still until all is done that is due.
func (w *world) next(steps []step) []step {
	urgent := false
	may := func(kind stepKind, at, of int) { steps = append(steps, step{kind, uint8(at), uint8(of)}) }
	must := func(kind stepKind, at, of int) { may(kind, at, of); urgent = true }
	left, done := &w.bounds.faults, &w.faults
	for i, m := range w.net {
		pr := w.procs[m.proc]
		deaf := pr.dead || pr.frozen
		if m.r != nil && !deaf && w.now >= m.givesUpAt() {
			must(givesUpAnswer, i, 0)
		}
		switch {
		case m.kind == silence:
			if m.r == nil && !deaf { // of a subscription
				must(givesUpAnswer, i, 0)
			}
			continue
		case m.kind == requestMessage || m.kind == subscribeMessage:
			may(runs, i, 0)
			urgent = urgent || !m.slow
		case !deaf:
			may(arrives, i, 0)
			urgent = urgent || !m.slow
		}
		if done.Lose < left.Lose {
			may(isLost, i, 0)
		}
		if done.Reset < left.Reset && m.r != nil {
			may(connectionFails, i, 0)
		}
		if done.Delay < left.Delay && !m.slow && m.kind != subscribeMessage && m.kind != subscribedMessage {
			may(isDelayed, i, 0)
		}
		if done.Dup < left.Dup && (m.kind == pushMessage || m.kind == requestMessage && m.r != nil) {
			may(isDoubled, i, 0)
		}
	}
	for i, pr := range w.procs {
		if !pr.dead {
			w.nextOf(i, pr, may, must)
		}
	}
	if done.Evict < left.Evict && w.server.lock != "" {
		may(evicts, 0, 0)
	}
	if !urgent && w.nextTime() < clock.Never {
		may(timePasses, 0, 0)
	}
	return steps
}

func (w *world) nextOf(i int, pr *searchProc, may, must func(kind stepKind, at, of int)) {
	left, done := &w.bounds.faults, &w.faults
	if done.Crash < left.Crash {
		may(crashes, i, 0)
	}
	if pr.frozen {
		may(thaws, i, 0)
		return
	}
	if done.Freeze < left.Freeze {
		may(freezes, i, 0)
	}
	if s := pr.p.sub; s.Confirmed && w.server.listens[i] != s.attempt {
		must(noticesBreak, i, 0)
	} else if s.Confirmed && done.Break < left.Break {
		may(dropsSubscription, i, 0)
	}
	if pr.due(w.now) {
		must(timersFire, i, 0)
	}
	if pr.come < w.bounds.callers && len(pr.waiting) < w.bounds.line {
		may(callerComes, i, 0)
	}
	for k := range pr.waiting {
		if w.bounds.giveUp {
			may(callerGivesUp, i, k)
		}
	}
	for k, t := range pr.turns {
		if w.now >= min(t.Ends(), t.since.Add(w.bounds.hold)) {
			must(releases, i, k)
		} else {
			may(releases, i, k)
		}
	}
}

// nextTime is when something is due, on the grid; Never: nothing is.
func (w *world) nextTime() clock.Instant {
	when := clock.Never
	at := func(i clock.Instant) { when = min(when, i) }
	if w.server.lock != "" {
		at(w.server.expires)
	}
	for _, m := range w.net {
		if pr := w.procs[m.proc]; m.r != nil && !pr.dead && !pr.frozen {
			at(m.givesUpAt())
		}
	}
	for _, pr := range w.procs {
		if pr.dead || pr.frozen {
			continue
		}
		if t := pr.timers(); len(t) > 0 {
			at(t[0].When())
		}
		for _, t := range pr.turns {
			at(t.since.Add(w.bounds.hold))
		}
	}
	if when == clock.Never {
		return when
	}
	return onGrid(max(when, w.now+1))
}

// onGrid rounds up.
func onGrid(i clock.Instant) clock.Instant {
	const g = clock.Instant(grid)
	return max(0, i+g-1) / g * g
}

// take removes a message.
func (w *world) take(i int) *message {
	m := w.net[i]
	w.net = slices.Delete(w.net, i, i+1)
	return m
}

// do takes a step.
func (w *world) do(s step) {
	i := int(s.at)
	switch s.what {
	case timePasses:
		w.pass(w.nextTime())
	case runs:
		w.runs(w.take(i))
	case arrives:
		w.arrives(w.take(i))
	case isLost, connectionFails, isDelayed, isDoubled, givesUpAnswer:
		w.fails(s.what, i)
	case evicts:
		w.faults.Evict++
		w.robbed = append(w.robbed, w.server.lock)
		w.server.lock, w.server.unclaimed = "", 0
	default:
		w.procs[i].do(s)
	}
	w.check()
}

func (w *world) pass(now clock.Instant) {
	w.now = now
	s := &w.server
	if s.unclaimed > 0 && now.Sub(s.unclaimed) > w.bounds.window {
		w.breaks(windowTooLong)
	}
	if s.lock != "" && now >= s.expires {
		s.lock, s.unclaimed = "", 0
	}
	for _, pr := range w.procs {
		for _, t := range pr.turns {
			if now >= t.Ends() && !slices.Contains(w.over, t.Token) {
				w.over = append(w.over, t.Token)
			}
		}
	}
}

func (w *world) runs(m *message) {
	pr := w.procs[m.proc]
	if m.kind == subscribeMessage {
		w.server.listens[m.proc] = m.attempt
		w.net = append(w.net, &message{kind: subscribedMessage, proc: m.proc, attempt: m.attempt})
		return
	}
	a := w.run(m.call)
	if m.call.Script == script.Lock && m.r == nil {
		w.left(m.proc, m.call.Args[0])
	}
	if m.r != nil && !pr.dead {
		w.net = append(w.net, &message{kind: answerMessage, proc: m.proc, r: m.r, said: a})
	}
}

// left notes an id that a script has put into the lock key or the queue after its process had ended
// it. The process gets no answer from that script. So the id may stay for a ttl, or until Redis
// pushes it, see docs/protocol.md.
func (w *world) left(p int, id string) {
	pr := w.procs[p]
	ended := pr.dead || pr.p.tenures[id] == nil || pr.p.tenures[id].phase >= releasing
	if ended && (w.server.lock == id || w.server.place(id) >= 0) && !slices.Contains(w.unseen, id) {
		w.unseen = append(w.unseen, id)
	}
}

func (w *world) arrives(m *message) {
	pr := w.procs[m.proc]
	switch m.kind {
	case answerMessage:
		if m.fails {
			pr.answered(m.r, nil, errConnection)
		} else {
			pr.answered(m.r, &m.said, nil)
		}
	case pushMessage:
		pr.pushed(m)
	case subscribedMessage:
		if pr.p.sub.attempt == m.attempt {
			pr.p.sub.OnConfirm(w.now)
			pr.flush()
		}
	}
}

func (w *world) fails(what stepKind, i int) {
	changed := *w.net[i]
	m := &changed
	w.net[i] = m
	switch what {
	case isLost:
		w.faults.Lose++
		if m.kind == pushMessage || m.r == nil && m.kind == requestMessage {
			w.take(i)
		} else {
			m.kind = silence
		}
	case connectionFails: // before the request ran, or after it
		w.faults.Reset++
		m.kind, m.fails = answerMessage, true
	case isDelayed:
		w.faults.Delay++
		m.slow = true
	case isDoubled:
		w.faults.Dup++
		twin := *m
		twin.r = nil
		w.net = append(w.net, &twin)
	case givesUpAnswer:
		pr, r := w.procs[m.proc], m.r
		if r == nil {
			w.take(i)
			pr.breaks(errConnection)
			return
		}
		if m.kind == requestMessage {
			m.r = nil
		} else {
			w.take(i)
		}
		pr.answered(r, nil, context.DeadlineExceeded)
	}
}

func (pr *searchProc) do(s step) {
	w := pr.w
	switch s.what {
	case crashes:
		w.faults.Crash++
		pr.dead, pr.waiting, pr.turns, pr.renewals = true, nil, nil, nil
		w.server.unlisten(pr.n)
		w.net = slices.DeleteFunc(w.net, func(m *message) bool { return m.proc == pr.n && m.kind != requestMessage })
		for _, m := range w.net {
			if m.proc == pr.n {
				m.r = nil
			}
		}
		pr.p = nil
	case freezes:
		w.faults.Freeze++
		pr.frozen = true
	case thaws:
		pr.frozen = false
	case dropsSubscription:
		w.faults.Break++
		w.server.unlisten(pr.n)
	case noticesBreak:
		pr.breaks(errConnection)
	case timersFire:
		pr.fire()
	case callerComes:
		pr.enter()
	case callerGivesUp:
		c := pr.waiting[s.of]
		pr.waiting = slices.Delete(pr.waiting, int(s.of), int(s.of)+1)
		pr.p.Abandon(c, w.now)
		pr.flush()
	case releases:
		pr.release(int(s.of))
	}
}

// text says what a step is, in the state before it.
func (w *world) text(s step) string {
	who := func(p int) string { return string(rune('A' + p)) }
	i := int(s.at)
	switch s.what {
	case timePasses:
		return fmt.Sprintf("time passes, to %v", w.nextTime().Sub(searchStart))
	case evicts:
		return "the lock key is deleted"
	case runs, arrives, isLost, connectionFails, isDelayed, isDoubled, givesUpAnswer:
		verb := map[stepKind]string{runs: "runs", arrives: "arrives", isLost: "is lost", connectionFails: "the connection fails under",
			isDelayed: "is delayed", isDoubled: "is doubled", givesUpAnswer: "no answer in time to"}[s.what]
		return fmt.Sprintf("%s: %s %s", who(w.net[i].proc), verb, w.messageText(w.net[i]))
	}
	verb := map[stepKind]string{crashes: "crashes", freezes: "freezes", thaws: "thaws", dropsSubscription: "the server drops the subscription",
		noticesBreak: "notices that", timersFire: "timers fire", callerComes: "a caller comes", callerGivesUp: "a caller gives up", releases: "a lease is released"}[s.what]
	return who(i) + ": " + verb
}
