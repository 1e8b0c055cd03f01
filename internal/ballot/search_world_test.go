package ballot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	grid        = 200 * time.Millisecond // time goes in steps of this: what is due in between happens at the next one
	searchStart = clock.Instant(time.Hour)
	firstToken  = 3_400_000_000_000_000 // by the clocks of the nodes at the start
	noLimit     = 255                   // as a number of faults: no limit
)

// What a step can break.
const (
	twoHolders = "S1: two leases are believed in at once"
	tokenFell  = "S2: a token is used that is not above all used before"
	tokenTwice = "S2: two leases have one token"
	shortLease = "a lease begins with less than a third of its ttl"
	twoAnswers = "a request has two answers, or an answer that it can't have"
	leftBehind = "L2: all is done, and something is left behind"
	neverHeard = "L2: all is done, and a request has no answer"
	waitsLong  = "waiting: nothing fails any more, and a client does not get the name in time"
)

// world is a state of the search: the Ballots of clients as they ship, a model of the nodes, and
// what is under way between them. What can happen next stands in search_steps_test.go.
type world struct {
	bounds  *searchBounds
	without check // that is taken out of the nodes, the clients' programs or quorum.Replace
	now     clock.Instant
	masters []master
	clients []*client
	net     []*message // in an order that depends on nothing but the state
	faults  faults
	used    int64   // the newest token that a lease used
	leases  []int64 // the tokens of all leases, if bounds.loose
	broken  string  // the invariant that a step broke
}

// check is something that a search can be made without.
type check string

const (
	raiseCheck   check = "raise looks whose the lock key is"
	restartCheck check = "a node that was restarted gives no vote"
	markerCheck  check = "a node without a marker gives no vote"
	clampCheck   check = "proposed tokens are bounded by the node's clock"
	renewCheck   check = "only nodes of the quorum renew"
	idCheck      check = "an id serves one try"
	fenceCheck   check = "quorum.Replace removes a majority of the old members first"
	sitOutCheck  check = "new members give no vote until old leases are over"
)

// faults count what has failed, or are how much may.
type faults struct{ Late, Lose, Fail, Dup, Crash, Restart uint8 }

// searchBounds say how large the search is.
type searchBounds struct {
	name        string
	nodes       int
	tries       []int         // of each client
	ticks       int           // of a ttl
	attempt     time.Duration // how long an answer is waited for; 0: for ever
	quick       bool          // the usual round trip is known to be short: a try waits less than a tick for its nodes
	renew       int           // renewals of each lease of the first client
	giveUp      bool          // a try may be given up
	turns       bool          // a lease may use its last token, too
	far         bool          // the clock of the first client is far ahead
	ahead       int64         // by how many tokens the clock of the last node is ahead
	won         bool          // at the start the first client has won two nodes, and lock is under way to the others
	renewing    bool          // at the start the first client has won two nodes and the lock to the third was lost; now it renews, and is late at the second
	renewalLost bool          // at the third it is lost
	loose       bool          // a lock key may end on any node at any time: then only tokens are looked at
	replace     bool          // of five nodes, the first three are the old members and the last three the new ones
	midway      bool          // and at the start old members are removed and new ones have joined, a majority of each
	faults      faults
	keep        bool          // a node that is restarted has its data,
	forget      bool          // all but its lock and fence keys,
	empty       bool          // or none
	horizon     int           // ticks in all; 0: clocks of nodes stand still, as far as tokens go, and time has no end
	sitOut      time.Duration // how long a restarted node gives no vote
	clamp       int64         // by how many tokens a proposal may differ from the node's clock
	ids         [][]string    // of each client, the ids of its tries
}

func (b *searchBounds) ttl() time.Duration { return time.Duration(b.ticks) * grid }

// spareTries are how many ids there are beyond the tries of bounds, to see how long a client waits.
const spareTries = 12

// message is a call that is under way. It is replaced and not changed.
type message struct {
	call   *Call
	client int
	ran    bool // a is under way
	a      wire.Answer
	lost   bool // nothing will come: the client has to notice
	slow   bool // it takes as long as it likes
	deaf   bool // nobody waits for its answer
}

// phase is where the program of a client stands.
type phase uint8

const (
	idle phase = iota
	asking
	holding
	releasing
	unreleased // a majority did not confirm
)

// client is a client's program and its Ballot, whose Host it is.
type client struct {
	w       *world
	n       int
	b       *Ballot
	place   *Place
	members []int // which node has which number in its quorum
	dead    bool
	tries   int // begun
	phase   phase
	request *Request      // of the try, or the newest unlock
	asked   int           // requests
	ends    clock.Instant // of its lease, as it believes
	renewal *Request      // nil: none is under way
	renewed int           // renewals of this lease
	token   int64         // the last one of its lease, which it may still use; 0: it has done so
}

func zero(time.Duration) time.Duration { return 0 }

// newWorld is a free name on nodes that all vote.
func newWorld(b *searchBounds, without check) *world {
	w := &world{bounds: b, without: without, now: searchStart, masters: make([]master, b.nodes)}
	for i := range w.masters {
		if w.masters[i].mark = firstQuorum; b.replace && i > 2 {
			w.masters[i].mark = ""
		}
	}
	w.masters[b.nodes-1].ahead = b.ahead
	attempt := b.attempt
	if attempt == 0 {
		attempt = time.Hour
	}
	for n := range b.tries {
		c := &client{w: w, n: n, place: NewPlace("a", keyspace.KeysBeside("a"), b.ttl())}
		id, first, nodes := firstQuorum, 0, b.nodes
		if b.replace {
			nodes = 3
			if n == 1 {
				id, first = secondQuorum, 2
			}
		}
		for i := range nodes {
			c.members = append(c.members, first+i)
		}
		c.b = New(Settings{ID: id, Nodes: nodes, Attempt: attempt, Random: zero}, c)
		for _, node := range c.b.nodes {
			node.roundTrip = b.usual()
		}
		w.clients = append(w.clients, c)
	}
	if b.won || b.renewing {
		w.do(step{what: begins})
		for range 2 {
			w.do(step{what: runs})
			w.do(step{what: arrives})
		}
	}
	if b.renewing {
		w.take(0)
		w.do(step{what: timePasses})
		w.do(step{what: renewalIsSent})
		if w.net[1].slow = true; b.renewalLost {
			w.take(2)
		}
	}
	if b.midway {
		for i := range uint8(2) {
			w.do(step{removesMember, i, 0})
			w.do(step{addsMember, 3 + i, 0})
		}
	}
	return w
}

// usual is the usual round trip of all nodes, and stays it: what a Ballot learns of it would be a
// state of its own after each answer.
func (b *searchBounds) usual() time.Duration {
	if b.quick {
		return time.Millisecond
	}
	return 0
}

// prepare names the ids of all tries.
func (b *searchBounds) prepare() *searchBounds {
	for n, tries := range b.tries {
		var ids []string
		for i := range tries + spareTries {
			ids = append(ids, fmt.Sprintf("%c.%d.%d|o", 'a'+n, i, b.ttl().Milliseconds()))
		}
		b.ids = append(b.ids, ids)
	}
	return b
}

// id is that of a try.
func (c *client) id(try int) string {
	if c.w.without == idCheck {
		try = 0
	}
	return c.w.bounds.ids[c.n][try]
}

// tokenClock is the clock of the nodes in tokens.
func (w *world) tokenClock() int64 {
	if w.bounds.horizon == 0 {
		return firstToken
	}
	return firstToken + int64(w.now-searchStart)/int64(time.Microsecond)*protocol.TokensPerMicrosecond
}

// fork returns a state that begins as this one. It shares the clients: own comes before one changes.
func (w *world) fork() *world {
	f := *w
	f.masters, f.clients, f.net, f.leases = slices.Clone(w.masters), slices.Clone(w.clients), slices.Clone(w.net), slices.Clip(w.leases)
	return &f
}

func (w *world) breaks(what string) {
	if w.broken == "" {
		w.broken = what
	}
}

// Send is a method of Host, and so are Answer and Failed.
func (c *client) Send(call *Call) {
	c.w.net = append(c.w.net, &message{call: call, client: c.n, slow: c.w.bounds.faults.Late == noLimit})
}

// Failed can't happen: no node refuses anything for good.
func (c *client) Failed(string, *Call, error) { panic("a cleanup was refused") }

// Answer does with an answer what package machine does.
func (c *client) Answer(r *Request, a wire.Answer, err error, now clock.Instant) {
	switch r.Op {
	case Lock:
		c.decided(r, a, now)
	case Renew:
		if c.renewal != r {
			if c.phase == holding && r.ID == c.request.ID {
				c.w.breaks(twoAnswers)
			}
			return
		}
		c.renewal = nil
		if end := clock.Deadline(r.Sent, c.place.TTL); a.Word == wire.Renewed && now < c.ends {
			c.ends = max(c.ends, end)
		} else if a.Word == wire.Lost {
			c.over()
		}
	case Unlock:
		if c.phase != releasing || c.request != r {
			c.w.breaks(twoAnswers)
		} else if c.phase = idle; err != nil {
			c.phase = unreleased
		}
	}
}

func (c *client) decided(r *Request, a wire.Answer, now clock.Instant) {
	if c.phase != asking || c.request != r {
		c.w.breaks(twoAnswers)
	} else if c.phase = idle; a.Word == wire.Granted {
		c.phase, c.ends, c.renewed = holding, clock.Deadline(r.Sent, c.place.TTL), 0
		if c.ends.Sub(now) < c.place.TTL/3 {
			c.w.breaks(shortLease)
		}
		c.w.uses(a.Base, a.Base)
		if c.token = 0; c.w.bounds.turns {
			c.token = a.Base + a.Size - 1
		}
	}
}

// uses is the use of a token of a lease that has the tokens from base on.
func (w *world) uses(base, token int64) {
	if w.bounds.loose {
		for _, other := range w.leases {
			if max(base-other, other-base) < protocol.TokenBlock {
				w.breaks(tokenTwice)
			}
		}
		w.leases = append(w.leases, base)
		return
	}
	if token <= w.used {
		w.breaks(tokenFell)
	}
	w.used = max(w.used, token)
}

// over is the end of a lease that was not given back.
func (c *client) over() { c.phase, c.ends, c.renewal, c.token = idle, 0, nil, 0 }

// ask asks the Ballot.
func (c *client) ask(kind Op) *Request {
	c.asked++
	r := &Request{Op: kind, ID: c.id(c.tries - 1), Place: c.place, Sent: c.w.now, Attempt: c.b.Attempt, Owned: c.phase != asking, For: c.asked}
	if kind == Lock {
		r.Wall, r.Owned = firstToken/protocol.TokensPerMicrosecond-100, false // behind the nodes' clocks
		if c.w.bounds.far && c.n == 0 {
			r.Wall = firstToken
		}
	}
	if kind == Renew {
		c.renewal = r
	} else {
		c.request = r
	}
	c.b.Ask(r)
	return r
}

// believes reports whether the client acts as holder.
func (c *client) believes() bool { return !c.dead && c.phase == holding && c.w.now < c.ends }

// check looks whether an invariant is broken.
func (w *world) check() {
	if w.bounds.loose {
		return
	}
	believers := 0
	for _, c := range w.clients {
		if c.believes() {
			believers++
		}
		if !c.dead && c.phase == holding && c.b.tenures[c.request.ID] != nil { // the Ballot repairs by a deadline of its own
			if t := c.b.tenures[c.id(c.tries-1)]; t.phase == held && t.ends > c.ends {
				w.breaks("S1: the Ballot believes longer in a lease than its client")
			}
		}
	}
	if believers > 1 {
		w.broken = twoHolders // before what the second one's token breaks
	}
}

// done reports whether the clients want nothing any more.
func (w *world) done() bool {
	return !slices.ContainsFunc(w.clients, func(c *client) bool {
		return !c.dead && (c.phase != idle && c.phase != releasing || c.tries < w.bounds.tries[c.n])
	})
}

// deliver lets all that is under way arrive, and nothing fails.
func (w *world) deliver() {
	for w.broken == "" {
		i := slices.IndexFunc(w.net, func(m *message) bool { return !m.lost })
		if i < 0 {
			return
		}
		if w.net[i].ran {
			w.do(step{arrives, uint8(i), 0})
		} else {
			w.do(step{runs, uint8(i), 0})
		}
	}
}

// ownAll makes all clients those of this state alone.
func (w *world) ownAll() *world {
	for n := range w.clients {
		w.own(n)
	}
	return w
}

// littered looks what is left when all is done, all has arrived and each cleanup has ended. A lock key
// that a script set for which nobody waited may be left, and what a dead client had.
func (w *world) littered() string {
	f := w.fork().ownAll()
	for f.deliver(); f.waits() && f.broken == ""; f.deliver() {
		if f.now.Sub(w.now) > time.Minute {
			return neverHeard
		}
		f.do(step{what: timePasses})
	}
	for i := range f.masters {
		if m := &f.masters[i]; m.lock != "" && !m.unseen && !f.clients[m.lock[0]-'a'].dead {
			f.breaks(leftBehind)
		}
	}
	return f.broken
}

// waits reports whether a client waits for an answer, or will repeat a cleanup.
func (w *world) waits() bool {
	return slices.ContainsFunc(w.clients, func(c *client) bool { return !c.dead && c.phase != idle || !c.dead && len(c.b.cleanups) > 0 }) ||
		slices.ContainsFunc(w.net, func(m *message) bool { return !m.deaf })
}

// fairly lets one client try until it has the name, while nothing fails any more and the others give
// it back. It returns for how long.
func (w *world) fairly(n int) (waited time.Duration, broken string) {
	f := w.fork().ownAll()
	c := f.clients[n]
	for f.broken == "" {
		f.deliver()
		for k, o := range f.clients {
			if !o.dead && (o.phase == holding && (k != n || !o.believes()) || o.phase == unreleased) {
				f.do(step{releases, uint8(k), 0})
			}
		}
		f.deliver()
		if waited = f.now.Sub(w.now); c.believes() || f.broken != "" {
			break
		}
		if c.phase == idle && c.tries < len(f.bounds.ids[n]) {
			f.do(step{begins, uint8(n), 0})
			if f.deliver(); c.believes() {
				break
			}
		}
		if waited > w.bounds.ttl()+w.bounds.attempt+w.bounds.sitOut+2*grid {
			return waited, waitsLong
		}
		f.do(step{what: timePasses})
	}
	return waited, f.broken
}

// print shows a state in a few lines.
func (w *world) print() string {
	var b strings.Builder
	for n, c := range w.clients {
		fmt.Fprintf(&b, "       %c: %s", 'A'+n, [...]string{"idle", "asks", "holds", "releases", "could not release"}[c.phase])
		switch {
		case c.dead:
			b.WriteString(", dead")
		case c.phase == holding:
			fmt.Fprintf(&b, ", %v left", c.ends.Sub(w.now))
		}
		b.WriteString("\n")
	}
	for i := range w.masters {
		m := &w.masters[i]
		fmt.Fprintf(&b, "       node %d: lock=%q fence=%d", i, m.holder(), m.fence)
		if m.lock != "" {
			fmt.Fprintf(&b, " for %v", m.expires.Sub(w.now))
		}
		if m.mark != firstQuorum {
			fmt.Fprintf(&b, " of %q", m.mark)
		}
		if m.until > w.now {
			fmt.Fprintf(&b, " no vote for %v", m.until.Sub(w.now))
		}
		for _, g := range w.net {
			if w.at(g) == i {
				b.WriteString("; " + w.messageText(g))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (w *world) messageText(m *message) string {
	text := fmt.Sprintf("%c: %s %s", 'A'+m.client, strings.TrimPrefix(m.call.Script.Name, "quorum_"), strings.Join(m.call.Args, " "))
	if m.ran {
		text = fmt.Sprintf("%c: %q to %s %s", 'A'+m.client, m.a.Word, strings.TrimPrefix(m.call.Script.Name, "quorum_"), m.call.Args[0])
	}
	if m.deaf {
		text += ", nobody waits for its answer"
	}
	if m.lost {
		text += ", lost"
	}
	return text
}

// at is the node of a message, as the world counts.
func (w *world) at(m *message) int { return w.clients[m.client].members[m.call.Node] }

var (
	errConnection = errors.New("connection reset")
	errDeadline   = context.DeadlineExceeded
)
