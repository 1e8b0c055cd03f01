package machine

import (
	"errors"
	"slices"
	"time"
	"unsafe"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	maxSearched = 3           // processes
	grid        = time.Second // time goes in steps of this: what is due in between happens at the next one
	searchStart = clock.Instant(time.Hour)
	searchName  = "a"
)

// world is a state of the search: processes as they ship, a model of the server, and what is
// under way between them.
type world struct {
	bounds   *searchBounds
	now      clock.Instant
	server   modelServer
	procs    []*searchProc
	net      []*message
	faults   faults
	used     int64    // the newest token that a caller got
	robbed   []string // ids whose lock key was deleted: nothing is promised to them
	over     []int64  // tokens of turns that were seen over
	unseen   []string // ids that may stay behind: see left
	broken   string   // the invariant that a step broke
	heard    *[]heard // what was published is noted here, too; nil: it is not
	answered []string // then: the newest answer of the server
}

// faults count what has failed, or are how much may.
type faults struct{ Lose, Reset, Delay, Dup, Crash, Freeze, Break, Evict uint8 }

// searchBounds say how large the search is.
type searchBounds struct {
	name    string
	procs   int
	callers int // that each process gets in all
	more    int // that one of them gets beyond that
	line    int // that may wait there at once
	giveUp  bool
	ttl     time.Duration
	window  time.Duration // claim window of the server
	block   int64         // tokens for each grant
	hold    time.Duration // how long a turn lasts at most
	faults  faults
	dupWait bool                // what is doubled is a lock that waits, and nothing else
	heads   [maxSearched]string // the ids of each process begin so
}

type messageKind uint8

const (
	requestMessage messageKind = iota
	answerMessage
	silence // nothing will come: the sender has to notice
	pushMessage
	subscribeMessage
	subscribedMessage
)

// message is what is under way.
type message struct {
	kind    messageKind
	proc    int
	call    driver.Call   // of a request
	r       *Request      // for which the process waits; nil: for none
	said    said          // an answer or a push
	fails   bool          // the answer is an error of the network
	slow    bool          // it takes as long as it likes
	attempt int           // of the subscription by which a push comes
	givenUp clock.Instant // of a lock: when its process gave up its answer; 0: it did not
}

// searchProc is a process and what stands around it: the calls of its program, its engine and
// its subscription. It is the host of the process.
type searchProc struct {
	w            *world
	n            int
	p            *Client
	dice         *dice
	dead, frozen bool
	come         int // callers so far
	waiting      []*LocalWaiter
	turns        []*Turn       // that callers have
	renewals     []*Request    // not sent yet
	open, begin  bool          // there is a subscription; an attempt is to begin
	again        bool          // it is to be renewed
	heard        clock.Instant // when the newest answer came
}

// dice are random numbers that make no part of any duration that the process asks for: all are
// multiples of noChance.
type dice struct{ n uint64 }

const noChance = 1 << 14 * 3 * 9765625 // 2^14 * 3 * 5^10: of 10 ms, 150 ms, 640 ms, 5 s, ...

func (d *dice) next() uint64 { d.n++; return d.n * noChance }

var errConnection = errors.New("connection reset")

// callersOf is how many callers a process gets.
func (b *searchBounds) callersOf(p int) int {
	if p == 0 {
		return b.callers + b.more
	}
	return b.callers
}

// newWorld is a free name, and processes that never asked for it.
func newWorld(b *searchBounds) *world {
	preparePlans()
	w := &world{bounds: b, now: searchStart}
	for i := range b.procs {
		d := &dice{uint64(i) * 2000}
		pr := &searchProc{w: w, n: i, dice: d}
		c := New(Settings{TTL: b.ttl, Owner: "o", Queue: true,
			SendsOnce: func() bool { return false }, Wall: func() int64 { return 0 }}, pr, d.next)
		pr.p = c
		w.procs = append(w.procs, pr)
		b.heads[i] = c.idPrefix
	}
	return w
}

// owned is a process and what is under way for it.
type owned struct {
	proc *searchProc
	net  []*message
}

// fork returns a state that begins as this one. It shares the processes: own comes before one
// changes. What is under way is replaced and not changed.
func (w *world) fork() *world {
	f := *w
	f.procs, f.net = slices.Clone(w.procs), slices.Clone(w.net)
	f.server.queue = slices.Clone(w.server.queue)
	f.robbed, f.unseen, f.over = slices.Clip(w.robbed), slices.Clip(w.unseen), slices.Clip(w.over)
	return &f
}

// own makes a process one of this state alone.
func (w *world) own(c *copier, p int) {
	o := owned{proc: w.procs[p]}
	for _, m := range w.net {
		if m.proc == p {
			o.net = append(o.net, m)
		}
	}
	o = *copyOf(c, &o)
	w.procs[p], o.proc.w = o.proc, w
	for i, m := range w.net {
		if m.proc == p {
			w.net[i], o.net = o.net[0], o.net[1:]
		}
	}
}

// after returns the state after a step.
func (w *world) after(c *copier, s step) *world {
	f := w.fork()
	if p := w.changes(s); p >= 0 {
		f.own(c, p)
	}
	f.do(s)
	return f
}

// changes is the process that a step changes, or -1.
func (w *world) changes(s step) int {
	switch s.what {
	case timePasses, evicts, runs, isLost, connectionFails, isDelayed, isDoubled:
		return -1
	case arrives, givesUpAnswer:
		return w.net[s.at].proc
	}
	return int(s.at)
}

func (w *world) breaks(what string) {
	if w.broken == "" {
		w.broken = what
	}
}

// wants reports whether a process waits for the name, or holds it, by an id.
func (pr *searchProc) wants(id string) bool {
	return !pr.dead && pr.p.tenures[id] != nil && pr.p.tenures[id].phase <= queued
}

// The methods of host.

func (pr *searchProc) Send(r *Request) {
	if r.Unsent {
		pr.renewals = append(pr.renewals, r)
		return
	}
	pr.w.net = append(pr.w.net, &message{kind: requestMessage, proc: pr.n, call: r.Call, r: r})
}

func (pr *searchProc) Deliver(w *LocalWaiter, o Outcome) {
	pr.waiting = slices.DeleteFunc(pr.waiting, func(x *LocalWaiter) bool { return x == w })
	if o.Turn == nil {
		return
	}
	pr.turns = append(pr.turns, o.Turn)
	if token := o.Turn.Token; token > pr.w.used {
		pr.w.used = token
	} else if !slices.Contains(pr.w.robbed, o.Turn.Tenure.ID) {
		pr.w.breaks(tokenFell)
	}
}

func (pr *searchProc) Listen(_ *Subscriber, again bool) {
	switch {
	case again && pr.open:
		pr.again = true
	case !again && !pr.open:
		pr.open, pr.begin = true, true
	}
}

func (pr *searchProc) Answer(any, error)    {}
func (pr *searchProc) Done(any)             {}
func (pr *searchProc) Ended(*Turn)          {}
func (pr *searchProc) Note(Event)           {}
func (pr *searchProc) Warn(string, ...any)  {}
func (pr *searchProc) Unlisten(*Subscriber) {}
func (pr *searchProc) ShowDetails()         {}

// flush does what the engine does when it releases the mutex.
func (pr *searchProc) flush() {
	w := pr.w
	for _, r := range pr.renewals {
		if r.MarkSent(w.now) {
			w.net = append(w.net, &message{kind: requestMessage, proc: pr.n, call: r.Call, r: r})
		}
	}
	pr.renewals = nil
	if pr.again {
		pr.again = false
		pr.breaks(errConnection)
	}
	if pr.begin {
		pr.begin = false
		attempt := pr.p.sub.OnBegin(w.now)
		w.net = append(w.net, &message{kind: subscribeMessage, proc: pr.n, attempt: attempt})
	}
}

// breaks is the end of a subscription, as the process sees it. What it still delivers is dropped.
func (pr *searchProc) breaks(err error) {
	w := pr.w
	w.server.unlisten(pr.n)
	w.net = slices.DeleteFunc(w.net, func(m *message) bool {
		return m.proc == pr.n && (m.kind == pushMessage || m.kind == subscribeMessage || m.kind == subscribedMessage || m.kind == silence && m.r == nil)
	})
	pr.begin = true
	pr.p.sub.OnBreak(err, w.now)
	pr.flush()
}

// publish is PUBLISH. A head or a recall that is still under way says as much as two.
func (w *world) publish(s said) {
	p := w.procOf(s.id)
	if w.server.listens[p] == 0 {
		return
	}
	if w.heard != nil {
		*w.heard = append(*w.heard, heard{p, s.payload()})
	}
	if s.word != "grant" {
		for i, m := range w.net {
			if m.kind == pushMessage && m.said.word == s.word && m.said.id == s.id && m.attempt == w.server.listens[p] {
				w.net[i] = &message{kind: pushMessage, proc: p, said: s, attempt: m.attempt, slow: m.slow}
				return
			}
		}
	}
	w.net = append(w.net, &message{kind: pushMessage, proc: p, said: s, attempt: w.server.listens[p]})
}

// enter is a call of Lock.
func (pr *searchProc) enter() {
	pr.come++
	c := &LocalWaiter{}
	pr.waiting = append(pr.waiting, c)
	if _, err := pr.p.Enter(searchName, nil, c, pr.w.now); err != nil {
		panic(err)
	}
	pr.flush()
}

// release is Release.
func (pr *searchProc) release(i int) {
	u := pr.turns[i]
	pr.turns = slices.Delete(pr.turns, i, i+1)
	pr.p.Release(u, pr.w.now)
	pr.flush()
}

// answered takes an answer, or why there is none.
func (pr *searchProc) answered(r *Request, s *said, err error) {
	var a wire.Answer
	if err == nil {
		if a, err = wire.DecodeAnswer(s.reply()); err != nil {
			panic(err)
		}
	}
	if err == nil {
		pr.heard = pr.w.now
	}
	pr.p.HandleAnswer(r, a, err, pr.w.now)
	pr.flush()
}

// pushed takes a push.
func (pr *searchProc) pushed(m *message) {
	push, err := wire.DecodePush(m.said.payload())
	if err != nil {
		panic(err)
	}
	if m.attempt == pr.p.sub.attempt && pr.p.tenures[m.said.id] == nil { // else it may be older than the end of the id
		pr.w.unseen = slices.DeleteFunc(slices.Clone(pr.w.unseen), func(id string) bool { return id == m.said.id })
	}
	pr.p.sub.OnPush(m.attempt, push, pr.w.now)
	pr.flush()
}

// fire lets the timers of a process fire that are due.
func (pr *searchProc) fire() {
	var ending *Tenure // whose unlock is not answered
	for _, n := range pr.p.names {
		if n.tenure != nil && n.tenure.phase == releasing {
			ending = n.tenure
		}
	}
	for t := pr.p.Schedule.Due(pr.w.now); t != nil; t = pr.p.Schedule.Due(pr.w.now) {
		t.Fire(pr.w.now)
	}
	if ending != nil && ending.phase == ended { // its key lives on for as long as the request took to get there
		pr.w.left(pr.n, ending.ID)
	}
	pr.flush()
}

// timers are those of a process. The heap has its earliest first.
func (pr *searchProc) timers() []*clock.Timer {
	return *(*[]*clock.Timer)(unsafe.Add(unsafe.Pointer(&pr.p.Schedule), heapAt))
}

// due takes the time, because a process that a state shares has another world.
func (pr *searchProc) due(now clock.Instant) bool {
	t := pr.timers()
	return len(t) > 0 && t[0].When() <= now
}

// givesUpAt is when the engine stops waiting for an answer.
func (m *message) givesUpAt() clock.Instant {
	return m.r.Sent.Add(m.r.Attempt)
}
