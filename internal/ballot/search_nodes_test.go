package ballot

import (
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// The quorum-ids that a node can have: of the first quorum, of neither while it is replaced, of the
// second quorum.
const (
	firstQuorum  = "q/1/3-0"
	noQuorum     = "q/1/3-0>q/2/3-0"
	secondQuorum = "q/2/3-0"
)

// master is the model of a node: what the scripts of a quorum read and write for one name. Package
// test/search compares it with the scripts.
type master struct {
	lock      string // id of the holder; "": the key is free
	token     int64  // in the lock key
	expires   clock.Instant
	fence     int64
	mark      string        // the marker's quorum-id; "": there is no marker
	until     clock.Instant // the marker's: no vote before
	restarted bool          // the marker has another run
	ahead     int64         // by how many tokens its clock is
	unseen    bool          // the lock key was set by a script that nobody waited for
}

// run runs a script on a node.
func (w *world) run(c *Call) (a wire.Answer) {
	m := &w.masters[c.Node]
	id, n := c.Args[0], func(i int) int64 {
		n, err := strconv.ParseInt(c.Args[i], 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	switch c.Script {
	case script.QuorumLock:
		a = w.votes(m, id, n(1), c.Args[2])
	case script.QuorumRaise:
		a.Word, a.Holder = wire.Lost, m.holder()
		if m.lock == id && m.token == n(1) || m.lock != "" && w.without == raiseCheck {
			a = wire.Answer{Word: wire.Raised}
			m.fence = max(m.fence, n(2)+protocol.TokenBlock-1)
		}
	case script.QuorumRenew:
		a = w.renews(m, id, n(1), c.Args[2])
	case script.QuorumRepair:
		if !w.member(m, c.Args[2]) {
			return noMember(m, c.Node)
		}
		w.marks(m, m.lock == "")
		a.Word, a.Holder = wire.Lost, m.holder()
		if m.lock == "" {
			a = wire.Answer{Word: wire.Repaired}
			m.set(id, n(1), w.now.Add(w.bounds.ttl()))
			m.fence = max(m.fence, n(1)+protocol.TokenBlock-1)
		}
	case script.QuorumUnlock:
		a.Word, a.Holder, a.PTTL = wire.NotHeld, m.holder(), -2*time.Millisecond
		if m.lock == id {
			a.Word, a.Holder = wire.Released, ""
			m.set("", 0, 0)
		}
	default:
		panic(c.Script.Name)
	}
	a.Run = runOf(c.Node)
	return a
}

func runOf(node int) string { return fmt.Sprintf("%x", 10+node) }

func noMember(m *master, node int) wire.Answer {
	return wire.Answer{Word: wire.NoMember, Mark: m.mark, Run: runOf(node)}
}

func (m *master) set(id string, token int64, expires clock.Instant) {
	m.lock, m.token, m.expires, m.unseen = id, token, expires, false
}

// holder is the value of the lock key.
func (m *master) holder() string {
	if m.lock == "" {
		return ""
	}
	return m.lock + ":" + wire.Itoa(m.token)
}

// member is part/quorum_check_member.lua, without the end of the script.
func (w *world) member(m *master, quorum string) bool {
	return m.mark == quorum || m.mark == "" && w.without == markerCheck
}

// marks writes the marker after a restart. In a repair that happens only if it is carried out.
func (w *world) marks(m *master, writes bool) {
	if m.restarted && writes {
		m.restarted = false
		if w.without != restartCheck {
			m.until = w.now.Add(w.bounds.sitOut)
		}
	}
}

// votes is quorum/lock.lua.
func (w *world) votes(m *master, id string, proposed int64, quorum string) (a wire.Answer) {
	if !w.member(m, quorum) {
		return wire.Answer{Word: wire.NoMember, Mark: m.mark}
	}
	w.marks(m, true)
	switch {
	case w.now < m.until:
		return wire.Answer{Word: wire.NoVote, PTTL: m.until.Sub(w.now)}
	case m.lock == id:
		return wire.Answer{Word: wire.Granted, Base: m.token, Size: protocol.TokenBlock}
	case m.lock != "":
		return wire.Answer{Word: wire.Held, Holder: m.holder(), PTTL: m.expires.Sub(w.now)}
	}
	clock, clamp := w.tokenClock()+m.ahead, w.bounds.clamp
	if w.without != clampCheck {
		proposed = min(max(proposed, clock-clamp), clock+clamp)
	}
	token := max(m.fence+1, proposed)
	m.set(id, token, w.now.Add(w.bounds.ttl()))
	m.fence = token + protocol.TokenBlock - 1
	return wire.Answer{Word: wire.Granted, Base: token, Size: protocol.TokenBlock}
}

// renews is quorum/renew.lua.
func (w *world) renews(m *master, id string, token int64, quorum string) wire.Answer {
	if !w.member(m, quorum) && w.without != renewCheck {
		return wire.Answer{Word: wire.NoMember, Mark: m.mark}
	}
	w.marks(m, true)
	if m.lock != id {
		return wire.Answer{Word: wire.Lost, Holder: m.holder()}
	}
	m.expires = w.now.Add(w.bounds.ttl())
	m.fence = max(m.fence, token+protocol.TokenBlock-1)
	return wire.Answer{Word: wire.Renewed}
}
