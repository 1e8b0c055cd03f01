package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
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

// next are all steps that can follow. Time stands still until all is done that is due. If the order
// of some step does not matter, nothing else is looked at before it.
func (w *world) next(steps []step) []step {
	urgent := false
	may := func(kind stepKind, at, of int) { steps = append(steps, step{kind, uint8(at), uint8(of)}) }
	must := func(kind stepKind, at, of int) { may(kind, at, of); urgent = true }
	left, done := &w.bounds.faults, &w.faults
	first := w.arrivesFirst()
	for i, m := range w.net {
		pr := w.procs[m.proc]
		if first >= 0 && i != first {
			continue
		}
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
		if done.Dup < left.Dup && w.mayBeDoubled(m) {
			may(isDoubled, i, 0)
		}
	}
	if first >= 0 {
		return steps
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

func (w *world) mayBeDoubled(m *message) bool {
	if w.bounds.dupWait {
		return m.kind == requestMessage && m.r != nil && m.call.Script == script.Lock && len(m.call.Args) > 1
	}
	return m.kind == pushMessage || m.kind == requestMessage && m.r != nil
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
	if pr.come < w.bounds.callersOf(i) && len(pr.waiting) < w.bounds.line {
		may(callerComes, i, 0)
	}
	for k := range pr.waiting {
		if w.bounds.giveUp {
			may(callerGivesUp, i, k)
		}
	}
	for k, t := range pr.turns {
		if w.now >= w.bounds.endOf(t) {
			must(releases, i, k)
		} else {
			may(releases, i, k)
		}
	}
}

// arrivesFirst returns the index of a message whose time of arrival does not matter; -1: there is none.
// It is the answer to a cleanup, or the confirmation of a subscription, and its process wants nothing
// any more.
func (w *world) arrivesFirst() int {
	first := -1
	for i, m := range w.net {
		pr := w.procs[m.proc]
		if m.slow || pr.dead || pr.frozen || pr.come < w.bounds.callersOf(m.proc) || len(pr.p.names)+len(pr.p.tenures)+len(pr.turns) > 0 {
			continue
		}
		if (m.kind == subscribedMessage || m.kind == answerMessage && m.r.Tenure == nil) && (first < 0 || isBefore(m, w.net[first])) {
			first = i
		}
	}
	return first
}

// isBefore puts messages in an order that does not depend on when they were sent.
func isBefore(a, b *message) bool {
	if a.proc != b.proc || a.kind != b.kind || a.r == nil {
		return cmp.Or(a.proc-b.proc, int(a.kind)-int(b.kind)) < 0
	}
	x, y := &a.r.Call, &b.r.Call
	return cmp.Or(byAge(x.Args[0], y.Args[0]), cmp.Compare(x.Script.Name, y.Script.Name), bit(a.fails)-bit(b.fails)) < 0
}

// settle drops what can change nothing any more: renewals of what is over, and answers that nobody
// waits for.
func (w *world) settle() {
	for i := 0; i < len(w.net); {
		if w.changesNothing(w.net[i]) {
			w.take(i)
		} else {
			i++
		}
	}
}

func (w *world) changesNothing(m *message) bool {
	if m.r == nil {
		return m.kind == requestMessage && m.call.Script == script.Renew && !w.comesBack(m.call.Args[0])
	}
	t := m.r.Tenure
	switch {
	case m.kind == answerMessage && !m.fails && w.procs[m.proc].p.NetFailed:
		return false
	case m.r.Call.Script == script.Renew:
		return t.phase > holding && (m.kind != requestMessage || !w.comesBack(t.ID))
	case m.kind != answerMessage || m.fails:
		return false
	case t == nil:
		return cleanupOf(m.r).asking != m.r
	case m.r.Call.Script == script.Unlock:
		return t.phase != releasing
	}
	return false
}

// comesBack reports whether the lock key has an id, or may get it.
func (w *world) comesBack(id string) bool {
	return w.server.lock == id || w.server.place(id) >= 0 || slices.ContainsFunc(w.net, func(m *message) bool {
		c := &m.call
		return m.kind == requestMessage && (c.Script == script.Lock && c.Args[0] == id || c.Script == script.Unlock && len(c.Args) > 2 && c.Args[2] == id)
	})
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
			at(w.bounds.endOf(t))
		}
	}
	if when == clock.Never {
		return when
	}
	return onGrid(max(when, w.now+1))
}

// endOf is when a turn is released at the latest.
func (b *searchBounds) endOf(u *Turn) clock.Instant { return min(u.Ends(), u.since.Add(b.hold)) }

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
	w.settle()
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
	if w.heard != nil {
		w.answered = a.reply()
	}
	if m.call.Script == script.Lock && m.r == nil && !w.isFollowed(m) {
		w.left(m.proc, m.call.Args[0])
	}
	if m.r != nil && !pr.dead {
		w.net = append(w.net, &message{kind: answerMessage, proc: m.proc, r: m.r, said: a})
	}
}

// lateFor is how late a lock without an answer may run so that its process still ends what it left:
// see longestRepeat.
const lateFor = time.Minute

// isFollowed reports whether the process has seen that a lock may run late, and cancels its id for
// longer than that.
func (w *world) isFollowed(m *message) bool { return m.givenUp > 0 && w.now < m.givenUp.Add(lateFor) }

// left notes an id that a script has put into the lock key or the queue after its process had ended
// it, or after its lease was over. The process gets no answer from that script. So the id may stay for a ttl, or until Redis
// pushes it, see docs/protocol.md.
func (w *world) left(p int, id string) {
	pr := w.procs[p]
	ended := pr.dead
	if !ended {
		t := pr.p.tenures[id]
		ended = t == nil || t.phase >= releasing || t.phase == holding && w.now >= t.Ends()
	}
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
			m.kind, m.said, m.call = silence, said{}, driver.Call{}
		}
	case connectionFails: // before the request ran, or after it
		w.faults.Reset++
		m.kind, m.fails, m.said, m.call = answerMessage, true, said{}, driver.Call{}
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
			if m.r = nil; m.call.Script == script.Lock {
				m.givenUp = w.now
			}
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

// stepTexts say what the steps are.
var stepTexts = [...]string{
	timePasses: "time passes", evicts: "the lock key is deleted",
	runs: "runs", arrives: "arrives", isLost: "is lost", connectionFails: "the connection fails under",
	isDelayed: "is delayed", isDoubled: "is doubled", givesUpAnswer: "no answer in time to",
	crashes: "crashes", freezes: "freezes", thaws: "thaws", dropsSubscription: "the server drops the subscription",
	noticesBreak: "notices that", timersFire: "timers fire", callerComes: "a caller comes", callerGivesUp: "a caller gives up",
	releases: "a lease is released",
}

// text says what a step is, in the state before it.
func (w *world) text(s step) string {
	i := int(s.at)
	switch s.what {
	case timePasses:
		return fmt.Sprintf("%s, to %v", stepTexts[s.what], w.nextTime().Sub(searchStart))
	case evicts:
		return stepTexts[s.what]
	case runs, arrives, isLost, connectionFails, isDelayed, isDoubled, givesUpAnswer:
		return fmt.Sprintf("%c: %s %s", 'A'+w.net[i].proc, stepTexts[s.what], w.messageText(w.net[i]))
	}
	return fmt.Sprintf("%c: %s", 'A'+i, stepTexts[s.what])
}
