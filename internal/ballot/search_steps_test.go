package ballot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
	"time"
)

// step is one thing that can happen.
type step struct {
	what stepKind
	at   uint8 // which message, client or node
	of   uint8 // which form of a fault
}

type stepKind uint8

const (
	timePasses stepKind = iota
	runs
	arrives
	isDelayed
	isLost
	connectionFails
	isDoubled
	begins
	givesUp
	renewalIsSent
	usesLastToken
	releases
	leavesRest
	crashes
	restarts
	noticesRestart
	endsEarly
	removesMember
	addsMember
	stepKinds
)

var stepTexts = [stepKinds]string{
	timePasses: "time passes", runs: "runs", arrives: "arrives", isDelayed: "is late", isLost: "is lost", connectionFails: "the connection fails under",
	isDoubled: "is doubled", begins: "asks for the name", givesUp: "gives up its try", renewalIsSent: "renews", usesLastToken: "uses its last token",
	releases: "releases", leavesRest: "leaves the rest of its unlock to the background", crashes: "crashes", restarts: "is restarted", noticesRestart: "notices its restart",
	endsEarly: "loses its lock key", removesMember: "is removed from the old quorum", addsMember: "joins the new quorum",
}

// The forms of a restart.
const (
	withData uint8 = iota
	withoutKeys
	withNothing
)

// next are all steps that can follow. Time stands still while something is under way that is not slow.
func (w *world) next(steps []step) []step {
	if w.broken != "" || w.done() {
		return steps
	}
	urgent := false
	may := func(what stepKind, at int, of uint8) { steps = append(steps, step{what, uint8(at), of}) }
	left, done := &w.bounds.faults, &w.faults
	for i, m := range w.net {
		if m.lost {
			continue
		}
		urgent = urgent || !m.slow
		if m.ran {
			may(arrives, i, 0)
		} else {
			may(runs, i, 0)
		}
		if done.Late < left.Late && !m.slow {
			may(isDelayed, i, 0)
		}
		if done.Lose < left.Lose && !m.deaf {
			may(isLost, i, 0)
		}
		if done.Fail < left.Fail && !m.deaf {
			may(connectionFails, i, 0)
		}
		if done.Dup < left.Dup && !m.ran {
			may(isDoubled, i, 0)
		}
	}
	for i, c := range w.clients {
		if !c.dead {
			w.nextOf(i, c, may)
		}
	}
	for i := range w.masters {
		w.nextOfNode(i, &w.masters[i], may)
	}
	if w.bounds.replace {
		w.nextReplace(may)
	}
	if !urgent && (w.bounds.horizon == 0 || w.now < searchStart.Add(time.Duration(w.bounds.horizon)*grid)) {
		may(timePasses, 0, 0)
	}
	return steps
}

type mayDo func(what stepKind, at int, of uint8)

func (w *world) nextOf(i int, c *client, may mayDo) {
	switch c.phase {
	case idle:
		if c.tries < w.bounds.tries[i] {
			may(begins, i, 0)
		}
	case asking:
		if w.bounds.giveUp {
			may(givesUp, i, 0)
		}
	case holding:
		if c.believes() && i == 0 && c.renewal == nil && c.renewed < w.bounds.renew {
			may(renewalIsSent, i, 0)
		}
		if c.believes() && c.token > 0 {
			may(usesLastToken, i, 0)
		}
		may(releases, i, 0)
	case unreleased:
		may(releases, i, 0)
		may(leavesRest, i, 0)
	}
	if w.faults.Crash < w.bounds.faults.Crash {
		may(crashes, i, 0)
	}
}

func (w *world) nextOfNode(i int, m *master, may mayDo) {
	if w.faults.Restart < w.bounds.faults.Restart {
		if w.bounds.keep {
			may(restarts, i, withData)
		}
		if w.bounds.forget {
			may(restarts, i, withoutKeys)
		}
		if w.bounds.empty {
			may(restarts, i, withNothing)
		}
	}
	if m.restarted { // a script for another name comes
		may(noticesRestart, i, 0)
	}
	if m.lock != "" && w.bounds.loose {
		may(endsEarly, i, 0)
	}
}

// nextReplace are the steps of quorum.Replace: it removes old members, and when a majority of them is
// removed it adds the new ones.
func (w *world) nextReplace(may mayDo) {
	removed := 0
	for i := range 3 {
		if w.masters[i].mark != firstQuorum {
			removed++
		} else {
			may(removesMember, i, 0)
		}
	}
	for i := 2; i < 5; i++ {
		mark := w.masters[i].mark
		if w.without == fenceCheck && mark != secondQuorum || removed > 1 && mark != secondQuorum && mark != firstQuorum {
			may(addsMember, i, 0)
		}
	}
}

// changes is the client that a step changes, or -1; all is true for all clients.
func (w *world) changes(s step) (n int, all bool) {
	switch s.what {
	case timePasses:
		return -1, true
	case runs, arrives, connectionFails:
		if m := w.net[s.at]; !m.deaf {
			return m.client, false
		}
		return -1, false
	case begins, givesUp, renewalIsSent, usesLastToken, releases, leavesRest, crashes:
		return int(s.at), false
	}
	return -1, false
}

// after returns the state after a step.
func (w *world) after(s step) *world {
	f := w.fork()
	switch n, all := w.changes(s); {
	case all:
		f.ownAll()
	case n >= 0:
		f.own(n)
	}
	f.do(s)
	return f
}

// do takes a step.
func (w *world) do(s step) {
	i := int(s.at)
	switch s.what {
	case timePasses:
		w.pass()
	case runs:
		w.runs(i)
	case arrives:
		m := w.take(i)
		w.answers(m, nil)
	case isDelayed, isLost, connectionFails, isDoubled:
		w.fails(s.what, i)
	case begins, givesUp, renewalIsSent, usesLastToken, releases, leavesRest, crashes:
		w.clients[i].do(s.what)
	default:
		w.ofNode(s, &w.masters[i])
	}
	w.settle()
	w.check()
}

// pass lets a tick pass: what lock keys and calls had to wait for is over, and timers fire.
func (w *world) pass() {
	w.now = w.now.Add(grid)
	for i := range w.masters {
		if m := &w.masters[i]; m.lock != "" && w.now >= m.expires {
			m.set("", 0, 0)
		}
	}
	for _, c := range w.clients {
		if !c.dead {
			c.b.Tick(w.now)
		}
	}
	for _, m := range slices.Clone(w.net) {
		if !m.deaf && w.now >= m.call.Sent.Add(m.call.Attempt) {
			w.noAnswer(slices.Index(w.net, m), errDeadline)
		}
	}
	for _, c := range w.clients {
		if !c.dead {
			c.b.Tick(w.now)
		}
	}
}

// noAnswer is the end of waiting for an answer. The request may still run.
func (w *world) noAnswer(i int, err error) {
	m := *w.net[i]
	if m.ran || m.lost {
		w.take(i)
	} else {
		deaf := m
		deaf.deaf, deaf.slow = true, true
		w.net[i] = &deaf
	}
	w.answers(&m, err)
}

// answers gives the Ballot an answer or an error.
func (w *world) answers(m *message, err error) {
	c := w.clients[m.client]
	if c.dead || m.deaf {
		return
	}
	a := m.a
	if err != nil {
		a = wire.Answer{}
	}
	c.b.Answered(m.call, a, err, w.now)
	n := c.b.nodes[m.call.Node]
	n.roundTrip, n.lastAnswer = w.bounds.usual(), 0
}

// runs runs a request.
func (w *world) runs(i int) {
	m := *w.take(i)
	call := *m.call
	call.Node = w.at(&m)
	node := &w.masters[call.Node]
	before := node.lock
	m.a, m.ran = w.run(&call), true
	if node.lock != before && node.lock != "" && m.deaf {
		node.unseen = true
	}
	if w.atOnce(&m) {
		w.answers(&m, nil)
	} else if !m.deaf {
		w.net = append(w.net, &m)
	}
}

// atOnce reports whether an answer comes at once, because what it does may as well be done later: the
// end of a cleanup or of an unlock, or that a try has one vote less. What a try then undoes is late
// itself.
func (w *world) atOnce(m *message) bool {
	switch m.call.part.(type) {
	case *cleanup:
		return true
	case *round:
		return w.bounds.faults.Fail == 0 && w.bounds.faults.Lose == 0
	}
	return m.call.Script == script.QuorumLock && m.a.Word != wire.Granted
}

func (w *world) fails(what stepKind, i int) {
	m := *w.net[i]
	switch what {
	case isDelayed:
		w.faults.Late++
		m.slow = true
		w.net[i] = &m
	case isLost:
		w.faults.Lose++
		m.lost, m.ran, m.a = true, false, wire.Answer{}
		w.net[i] = &m
	case connectionFails:
		w.faults.Fail++
		w.noAnswer(i, errConnection)
	case isDoubled:
		w.faults.Dup++
		m.deaf, m.slow = true, true
		w.net = append(w.net, &m)
	}
}

func (c *client) do(what stepKind) {
	switch what {
	case begins:
		c.tries++
		c.phase = asking
		c.ask(Lock)
	case givesUp:
		c.ask(Undo)
		c.over()
	case renewalIsSent:
		c.renewed++
		c.ask(Renew)
	case usesLastToken:
		token := c.token
		c.token = 0
		c.w.uses(token, token)
	case releases:
		c.over()
		c.phase = releasing
		c.ask(Unlock)
	case leavesRest:
		c.ask(Undo)
		c.over()
	case crashes:
		w := c.w
		w.faults.Crash++
		c.over()
		c.dead, c.b, c.request = true, nil, nil
		for i, m := range w.net {
			if m.client == c.n {
				deaf := *m
				deaf.deaf, deaf.slow = true, true
				w.net[i] = &deaf
			}
		}
	}
}

// ofNode is what happens to a node.
func (w *world) ofNode(s step, m *master) {
	switch s.what {
	case restarts:
		w.faults.Restart++
		m.restarted = true
		if s.of != withData {
			m.set("", 0, 0)
			m.fence = 0
		}
		if s.of == withNothing {
			m.mark, m.until, m.restarted = "", 0, false
		}
	case noticesRestart:
		w.marks(m, true)
	case endsEarly:
		m.set("", 0, 0)
	case removesMember:
		m.mark = noQuorum
	case addsMember:
		m.mark, m.until, m.restarted = secondQuorum, w.now.Add(w.bounds.sitOut), false
		if w.without == sitOutCheck {
			m.until = 0
		}
	}
}

// take removes a message.
func (w *world) take(i int) *message {
	m := w.net[i]
	w.net = slices.Delete(w.net, i, i+1)
	return m
}

// settle drops what can change nothing any more, and puts what is under way in order.
func (w *world) settle() {
	for i := 0; i < len(w.net); {
		if w.changesNothing(w.net[i]) {
			w.take(i)
		} else {
			i++
		}
	}
	slices.SortStableFunc(w.net, func(a, b *message) int {
		x, y := a.call, b.call
		return cmp.Or(a.client-b.client, x.Node-y.Node, cmp.Compare(x.Script.Name, y.Script.Name), slices.Compare(x.Args, y.Args),
			cmp.Compare(x.Sent, y.Sent), bit(a.deaf)-bit(b.deaf), bit(a.ran)-bit(b.ran), bit(a.slow)-bit(b.slow), bit(a.lost)-bit(b.lost))
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// changesNothing: nobody waits for the answer, and the script can't write, because the lock key is not
// its id's and can't become it.
func (w *world) changesNothing(m *message) bool {
	if !m.deaf {
		return false
	}
	if m.ran || m.lost {
		return true
	}
	i, s := w.at(m), m.call.Script
	if s == script.QuorumLock || s == script.QuorumRepair || s == script.QuorumRenew && w.masters[i].restarted || w.without == raiseCheck {
		return false
	}
	id := m.call.id()
	if s == script.QuorumUnlock && slices.ContainsFunc(w.net, func(o *message) bool {
		return o != m && o.deaf && o.call.Script == s && o.call.id() == id && w.at(o) == i
	}) {
		return true // two that run at any time do as much as one
	}
	return w.masters[i].lock != id && !slices.ContainsFunc(w.net, func(o *message) bool {
		s := o.call.Script
		return o.call.id() == id && w.at(o) == i && (s == script.QuorumLock || s == script.QuorumRepair) && !o.ran && !o.lost
	})
}

// text says what a step is, in the state before it.
func (w *world) text(s step) string {
	switch what := stepTexts[s.what]; {
	case s.what == timePasses:
		return what
	case s.what <= isDoubled:
		m := w.net[s.at]
		return fmt.Sprintf("node %d: %s %s", w.at(m), what, w.messageText(m))
	case s.what <= crashes:
		return fmt.Sprintf("%c: %s", 'A'+s.at, what)
	case s.what == restarts:
		return fmt.Sprintf("node %d: %s %s", s.at, what, [...]string{"with its data", "without lock and fence key", "with nothing"}[s.of])
	default:
		return fmt.Sprintf("node %d: %s", s.at, what)
	}
}
