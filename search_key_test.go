package holdfast

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/tokens"
)

// heapAt is where a clock.Schedule has its heap of timers.
var heapAt = func() uintptr {
	timers, _ := reflect.TypeFor[clock.Schedule]().FieldByName("timers")
	heap, _ := timers.Type.FieldByName("heap")
	return timers.Offset + heap.Offset
}()

// keyMaker writes a state so that two states are written alike if they differ only in what does
// not matter: when they are, what ids and tokens are, which of two processes is which. Which
// fields it leaves out, and why, stands in search_fields_test.go.
type keyMaker struct {
	w       *world
	b       []byte
	now     clock.Instant
	horizon time.Duration
	pr      *searchProc
	ids     [maxSearched][]string // of each process, in order of appearance
	seen    map[any]int           // what of a process was written
	inline  bool                  // what is written now is not numbered
	tokens  []int64               // the ends of blocks, to be replaced by their order
	scores  []int64               // the same of arrivals
	parts   [maxSearched][]byte
}

func (k *keyMaker) num(n int64)           { k.b = binary.AppendVarint(k.b, n) }
func (k *keyMaker) text(s string)         { k.num(int64(len(s))); k.b = append(k.b, s...) }
func (k *keyMaker) bits(all ...bool)      { k.b = append(k.b, bitsOf(all)) }
func (k *keyMaker) token(t int64)         { k.num(rank(k.tokens, t)) }
func (k *keyMaker) arrival(a int64)       { k.num(rank(k.scores, a)) }
func (k *keyMaker) atMost(n, top int)     { k.num(int64(min(n, top))) }
func (k *keyMaker) delay(d time.Duration) { k.num(int64((d + grid/2 - 1) / grid)) }

func bitsOf(all []bool) (b byte) {
	for i, x := range all {
		if x {
			b |= 1 << i
		}
	}
	return b
}

// rank replaces a number by its place among all, where large gaps are like small ones. 0 stays.
func rank(all []int64, n int64) int64 {
	if n == 0 {
		return 0
	}
	r, last := int64(0), int64(0)
	for _, x := range all {
		if x > n {
			break
		}
		r += min(x-last, 3)
		last = x
	}
	return r
}

// at writes a time, as what has passed or is left, in milliseconds. What is longer ago than the
// horizon is long ago.
func (k *keyMaker) at(i clock.Instant) {
	switch {
	case i == 0:
		k.num(1 << 40)
	case i == clock.Never:
		k.num(1<<40 + 1)
	default:
		k.num(int64((max(i.Sub(k.now), -k.horizon) + time.Millisecond/2).Round(time.Millisecond) / time.Millisecond))
	}
}

// due writes a time that is only compared with the present.
func (k *keyMaker) due(i clock.Instant) {
	switch {
	case i == 0:
		k.num(-1)
	case i == clock.Never:
		k.num(1 << 40)
	default:
		k.num(int64(max(0, onGrid(i)-k.now) / clock.Instant(grid)))
	}
}

// id writes an id as the number of its appearance, one of another process as 1, none as 0.
func (k *keyMaker) id(id string) {
	switch {
	case id == "":
		k.num(0)
	case !strings.HasPrefix(id, k.w.bounds.heads[k.pr.n]):
		k.num(1)
	default:
		k.num(int64(2 + k.number(k.pr.n, id)))
	}
}

func (k *keyMaker) number(proc int, id string) int {
	at := slices.Index(k.ids[proc], id)
	if at < 0 {
		at = len(k.ids[proc])
		k.ids[proc] = append(k.ids[proc], id)
	}
	return at
}

// ageOf is the number of an id, of all that its process has made.
func ageOf(id string) uint64 {
	nonce, err := base64.RawURLEncoding.DecodeString(strings.SplitN(id, ".", 3)[1])
	if err != nil {
		panic(err)
	}
	return binary.LittleEndian.Uint64(nonce)
}

func byAge(a, b string) int { return cmp.Compare(ageOf(a), ageOf(b)) }

// known writes the number of what was written before, or numbers it.
func (k *keyMaker) known(x any) bool {
	if n, ok := k.seen[x]; ok {
		k.num(int64(n))
		return true
	}
	k.num(-1)
	if !k.inline {
		k.seen[x] = len(k.seen)
	}
	return false
}

// key returns what stands for all states that are like this one.
func (k *keyMaker) key(w *world) []byte {
	k.w, k.now = w, w.now
	k.horizon = max(w.bounds.ttl, 2*w.bounds.ttl/2, time.Second) + grid
	k.rankAll()
	for i, pr := range w.procs {
		k.b, k.pr, k.ids[i] = k.parts[i][:0], pr, k.ids[i][:0]
		clear(k.seen)
		k.proc(pr)
		k.parts[i] = k.b
	}
	var order [maxSearched]int
	procs := order[:len(w.procs)]
	for i := range procs {
		procs[i] = i
	}
	slices.SortStableFunc(procs, func(a, b int) int { return bytes.Compare(k.parts[a], k.parts[b]) })
	k.b = nil
	best := k.whole(procs)
	for i := 1; i < len(procs); i++ { // of those that are alike, by turns
		if bytes.Equal(k.parts[procs[i-1]], k.parts[procs[i]]) {
			procs[i-1], procs[i] = procs[i], procs[i-1]
			if other := k.whole(procs); bytes.Compare(other, best) < 0 {
				best = other
			}
		}
	}
	return best
}

// rankAll collects tokens and arrivals.
func (k *keyMaker) rankAll() {
	k.tokens, k.scores = append(k.tokens[:0], k.w.server.fence, k.w.used), k.scores[:0]
	for _, pr := range k.w.procs {
		if pr.dead {
			continue
		}
		for _, t := range pr.p.tenures {
			b := blocksOf(&t.tokens)
			if t.phase == holding {
				k.tokens = append(k.tokens, b.next, b.end, b.spare, b.spareEnd)
			}
			k.scores = append(k.scores, t.arrival)
		}
	}
	for _, m := range k.w.net {
		if m.said.last > 0 {
			k.tokens = append(k.tokens, m.said.last-m.said.size+1, m.said.last+1)
		}
		k.scores = append(k.scores, m.said.score, arrivalIn(m))
	}
	for _, q := range k.w.server.queue {
		k.scores = append(k.scores, q.arrival)
	}
	slices.Sort(k.tokens)
	slices.Sort(k.scores)
	k.tokens, k.scores = slices.Compact(k.tokens), slices.Compact(k.scores)
	for i := range k.scores { // their order alone
		if i > 0 {
			k.scores[i] = max(k.scores[i], k.scores[i-1]+1)
		}
	}
}

func arrivalIn(m *message) int64 {
	if m.kind == requestMessage && m.call.Script == script.Lock && len(m.call.Args) > 2 {
		n, _ := strconv.ParseInt(m.call.Args[2], 10, 64)
		return n
	}
	return 0
}

// blocks are the fields of tokens.Blocks.
type blocks struct{ next, end, spare, spareEnd, half, last int64 }

func blocksOf(b *tokens.Blocks) *blocks { return (*blocks)(unsafe.Pointer(b)) }

// whole writes the processes in that order, and the server with their ids.
func (k *keyMaker) whole(procs []int) []byte {
	var rank [maxSearched]int
	var b []byte
	for i, p := range procs {
		rank[p] = i
		b = binary.AppendUvarint(b, uint64(len(k.parts[p])))
		b = append(b, k.parts[p]...)
	}
	old := k.b
	k.b = b
	s := &k.w.server
	id := func(id string) {
		if id == "" {
			k.num(-1)
			return
		}
		p := k.w.procOf(id)
		k.num(int64(rank[p]))
		k.num(int64(k.number(p, id)))
	}
	id(s.lock)
	if s.lock != "" {
		k.at(s.expires)
		k.at(s.unclaimed)
	}
	k.token(s.fence)
	k.token(k.w.used)
	if s.pushedTo > 0 {
		k.num(int64(1 + rank[s.pushedTo-1]))
	} else {
		k.num(0)
	}
	k.num(int64(len(s.queue)))
	for _, q := range s.queue {
		id(q.id)
		k.arrival(q.arrival)
	}
	for _, p := range procs {
		k.num(int64(s.ahead[p]))
	}
	f := &k.w.faults
	k.b = append(k.b, f.Lose, f.Reset, f.Delay, f.Dup, f.Crash, f.Freeze, f.Break, f.Evict)
	k.b, b = old, k.b
	return b
}

// proc writes one process, what is under way for it, and what it remembers of ids that anybody
// speaks of.
func (k *keyMaker) proc(pr *searchProc) {
	w := k.w
	k.bits(pr.dead, pr.frozen, pr.open, pr.begin, pr.again)
	k.num(int64(pr.come))
	k.inline = false
	if !pr.dead {
		k.process(pr.p)
		for _, t := range pr.turns {
			k.bits(t.over)
			k.turn(t.turn)
		}
		k.num(int64(compareAttempts(w.server.listens[pr.n], pr.p.sub.attempt)))
	}
	k.nameRest(pr)
	k.inline = true
	var all [][]byte
	outer := k.b
	for _, m := range w.net {
		if m.proc == pr.n {
			k.b = nil
			k.message(m)
			all = append(all, k.b)
		}
	}
	k.b = outer
	slices.SortFunc(all, bytes.Compare)
	for _, m := range all {
		k.num(int64(len(m)))
		k.b = append(k.b, m...)
	}
	for _, id := range k.ids[pr.n] {
		if !pr.dead {
			k.bits(pr.p.givenUpIDs.Of(id) != nil, pr.p.endedIDs.Of(id) != nil, pr.p.tenures[id] != nil, slices.Contains(w.robbed, id), slices.Contains(w.unseen, id))
		}
	}
}

func compareAttempts(there, here int) int {
	switch there {
	case 0, here:
		return 2 * bit(there > 0)
	}
	return 1
}

// nameRest numbers the ids that only the server and messages speak of, the oldest first.
func (k *keyMaker) nameRest(pr *searchProc) {
	var rest []string
	note := func(id string) {
		if strings.HasPrefix(id, k.w.bounds.heads[pr.n]) && !slices.Contains(k.ids[pr.n], id) && !slices.Contains(rest, id) {
			rest = append(rest, id)
		}
	}
	note(k.w.server.lock)
	for _, q := range k.w.server.queue {
		note(q.id)
	}
	for _, m := range k.w.net {
		note(m.said.holder)
		note(m.said.id)
		for _, a := range m.call.Args {
			note(a)
		}
		if m.r != nil {
			note(m.r.call.Args[0])
		}
	}
	slices.SortFunc(rest, byAge)
	k.ids[pr.n] = append(k.ids[pr.n], rest...)
}

func (k *keyMaker) process(p *process) {
	k.bits(p.closed, p.netFailed)
	k.at(p.netFailureOver)
	k.at(max(p.renewedAllAt, k.now.Add(-grid)))
	k.due(p.noPushUntil)
	k.subscriber(p.sub)
	for _, n := range p.names { // there is one at most
		k.localName(n)
	}
	var rest []string
	for id := range p.tenures {
		rest = append(rest, id)
	}
	slices.SortFunc(rest, byAge)
	for _, id := range rest {
		k.tenure(p.tenures[id])
	}
	var cleanups []*cleanup
	for e := range p.cleanups {
		cleanups = append(cleanups, e)
	}
	slices.SortFunc(cleanups, func(a, b *cleanup) int {
		return cmp.Or(byAge(a.call.Args[0], b.call.Args[0]), cmp.Compare(a.call.Script.Name, b.call.Script.Name),
			cmp.Compare(a.until, b.until), cmp.Compare(a.wait, b.wait))
	})
	for _, e := range cleanups {
		k.cleanup(e)
	}
	k.timers(k.pr)
}

func (k *keyMaker) timers(pr *searchProc) {
	type entry struct {
		when int64
		what string
		of   unsafe.Pointer
		pl   *plan
	}
	var all []entry
	for _, t := range pr.timers() {
		f := *(**closure)(unsafe.Pointer(&t.Fire))
		when := int64(max(0, onGrid(t.When())-k.now) / clock.Instant(grid))
		all = append(all, entry{when, runtime.FuncForPC(f.code).Name(), f.of, receiverOf(f.code)})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.what, b.what)) })
	k.num(int64(len(all)))
	for _, e := range all {
		k.num(e.when)
		k.text(e.what)
		switch x := reflect.NewAt(e.pl.t, e.of).Interface().(type) {
		case *localName:
			k.bits(x.listed)
		case *tenure:
			k.tenure(x)
		case *turn:
			k.turn(x)
		case *cleanup:
			k.cleanup(x)
		}
	}
}

func (k *keyMaker) subscriber(s *subscriber) {
	k.bits(s.wanted, s.confirmed, s.failed, s.resubscribing == s.attempt)
	k.at(s.sentAt)
	if s.confirmed {
		k.at(s.confirmedAt)
	}
}

func (k *keyMaker) localName(n *localName) {
	k.bits(n.listed, n.turn != nil, n.asking != nil, n.unlocking != nil, n.tenure != nil, n.fresh != nil, n.releaseDone != nil)
	for c := n.waiters.first; c != nil; c = c.after {
		k.bits(true, c.try)
	}
	k.due(n.lingerUntil)
	k.due(n.askAt)
	k.at(n.failingSince)
	k.num(n.seen.position)
	if n.releaseDone != nil {
		k.due(n.releaseDeadline)
	}
	if n.tenure != nil {
		k.tenure(n.tenure)
	}
	if n.fresh != nil {
		k.tenure(n.fresh)
	}
	if n.turn != nil {
		k.turn(n.turn)
	}
	if n.asking != nil {
		k.request(n.asking)
	}
	if n.unlocking != nil {
		k.request(n.unlocking)
	}
}

func (k *keyMaker) tenure(t *tenure) {
	if k.known(t) {
		return
	}
	k.id(t.id)
	k.num(int64(t.phase))
	k.bits(t.local.listed, t.mayRunLate)
	if t.phase == past {
		return
	}
	k.num(int64(t.openLocks))
	switch t.phase {
	case asked, queued:
		k.bits(t.inQueue, t.foundHeld, t.sentWait, t.requeue, t.earlyRecall)
		k.at(t.firstSent)
		k.at(t.clockPair.sent)
		if t.clockPair.server > 0 {
			k.at(clock.Instant(t.clockPair.server * 1000))
		}
		k.arrival(t.arrival)
		k.at(t.lateGrantAt)
		k.due(t.pollBy)
		k.at(t.verifySince)
	case holding:
		k.bits(t.failures > 0, t.toppedUp, t.recallSure, t.turns > 0, t.renewal != nil, t.confirmed)
		k.at(t.verifySince)
		k.at(t.ends())
		k.at(t.expiry)
		k.num(int64(t.ttl / time.Millisecond))
		k.due(t.renewAt)
		k.serves(t)
		b := blocksOf(&t.tokens)
		if b.next < b.end || b.spare < b.spareEnd {
			k.num(1)
		}
		for _, x := range []int64{b.next, b.end, b.spare, b.spareEnd} {
			k.token(x)
		}
		k.num(b.half)
		if t.renewal != nil {
			k.request(t.renewal)
		}
	case releasing:
		k.at(t.expiry)
	}
}

// serves writes how many of the waiters still get a turn.
func (k *keyMaker) serves(t *tenure) {
	if t.servesUpTo == 0 {
		k.num(-1)
		return
	}
	served := int64(0)
	for c := t.local.waiters.first; c != nil && c.number <= t.servesUpTo; c = c.after {
		served++
	}
	k.num(served)
}

func (k *keyMaker) turn(u *turn) {
	if k.known(u) {
		return
	}
	k.bits(u.ended.Load() != nil, u.releaseDone != nil, u.local.turn == u)
	k.at(u.since)
	k.num(int64(u.shares))
	k.tenure(u.tenure)
}

func (k *keyMaker) request(r *request) {
	if k.known(r) {
		return
	}
	k.text(runtime.FuncForPC(codeOf(r)).Name())
	k.text(r.call.Script.Name)
	k.args(r)
	k.bits(r.unsent, r.reserving, r.wholeOnly, r.local.listed)
	k.at(r.sent)
	k.at(r.sent.Add(r.attempt))
	if r.tenure != nil {
		k.tenure(r.tenure)
	}
	if f := *(**closure)(unsafe.Pointer(&r.onAnswer)); methods[f.code] != nil {
		e := (*cleanup)(f.of)
		if _, lives := e.p.cleanups[e]; !lives || e.asking != r {
			k.num(0)
		} else {
			k.num(1)
			k.cleanup(e)
		}
	}
}

func codeOf(r *request) uintptr { return (*(**closure)(unsafe.Pointer(&r.onAnswer))).code }

func (k *keyMaker) args(r *request) {
	for i, a := range r.call.Args {
		switch {
		case strings.Contains(a, "|"):
			k.id(a)
		case i == 2 && r.call.Script == script.Lock:
			n, _ := strconv.ParseInt(a, 10, 64)
			k.arrival(n)
		default:
			k.text(a)
		}
	}
}

func (k *keyMaker) cleanup(e *cleanup) {
	if k.known(e) {
		return
	}
	k.text(e.call.Script.Name)
	k.args(&request{call: e.call})
	k.num(int64(min(e.until.Sub(k.now), 8*grid) / time.Millisecond))
	k.delay(e.wait)
	k.bits(e.lockKeyOnly, e.confirmed, e.asking != nil, e.p.cancels.Of(e.call.Args[0]) == e)
	k.num(int64(e.repeatAfter))
	if e.asking != nil {
		k.request(e.asking)
	}
}

func (k *keyMaker) message(m *message) {
	k.num(int64(m.kind))
	k.bits(m.fails, m.slow, m.r != nil)
	if m.r != nil {
		k.request(m.r)
	} else if m.kind == requestMessage {
		k.text(m.call.Script.Name)
		k.args(&request{call: m.call})
	}
	if m.kind == answerMessage && !m.fails || m.kind == pushMessage {
		k.said(&m.said)
	}
	if m.attempt > 0 && !k.pr.dead {
		k.num(int64(compareAttempts(m.attempt, k.pr.p.sub.attempt)))
	}
}

func (k *keyMaker) said(s *said) {
	k.text(s.word)
	k.token(s.last)
	if s.last > 0 {
		k.num(s.size)
	}
	k.num(min(s.waiting, 1))
	if s.us > 0 && s.word != "cancelled" && s.word != "not held" && s.word != "held" {
		k.at(clock.Instant(s.us * 1000))
	}
	k.id(s.holder)
	k.num(int64(s.ttl / time.Millisecond))
	k.num(s.rank)
	k.arrival(s.score)
	k.bits(s.inserted, s.listens, s.poll)
	k.id(s.id)
}
