package machine

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"reflect"
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
// fields it leaves out, and why, stands in search_fields_test.go, which has a test.
type keyMaker struct {
	w       *world
	b       []byte
	now     clock.Instant
	horizon time.Duration
	pr      *searchProc
	ids     [maxSearched][]string // of each process, the oldest first
	seen    table[int64]          // what of a process was written
	count   int64
	codes   map[uintptr]int64
	inline  bool    // what is written now is not numbered
	tokens  []int64 // the ends of blocks, to be replaced by their order
	scores  []int64 // the same of arrivals
	parts   [maxSearched][]byte
}

func (k *keyMaker) num(n int64)           { k.b = binary.AppendVarint(k.b, n) }
func (k *keyMaker) text(s string)         { k.num(int64(len(s))); k.b = append(k.b, s...) }
func (k *keyMaker) bits(all ...bool)      { k.b = append(k.b, bitsOf(all)) }
func (k *keyMaker) token(t int64)         { k.num(rank(k.tokens, t)) }
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

// coarse is how exact a time is written: what is less, a deadline is earlier for clocks that differ.
const coarse = grid / 10

// arrival writes an arrival as its place among all. One that is above the server's clock is by so
// much above what the server gives next.
func (k *keyMaker) arrival(a int64) {
	k.num(int64(slices.Index(k.scores, a)))
	if us := k.w.us(); a >= us {
		k.num(a - us)
	}
}

// at writes a time, as what has passed or is left. What is longer ago than the horizon is long ago.
func (k *keyMaker) at(i clock.Instant) {
	switch i {
	case 0:
		k.num(1 << 40)
	case clock.Never:
		k.num(1<<40 + 1)
	default:
		k.num(int64((max(i.Sub(k.now), -k.horizon) + 1000*coarse - 1) / coarse)) // rounded up
	}
}

// due writes a time that is only compared with the present. What is a second late tells that the
// process was frozen.
func (k *keyMaker) due(i clock.Instant) {
	switch i {
	case 0:
		k.num(-1)
	case clock.Never:
		k.num(1 << 40)
	default:
		k.num(k.left(i))
	}
}

func (k *keyMaker) left(i clock.Instant) int64 {
	return int64(max(clock.Instant(-frozenAfter), onGrid(i)-k.now) / clock.Instant(grid))
}

// id writes an id as its number by age, one of another process as 1, none as 0.
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
	return binary.LittleEndian.Uint64(nonce) / noChance
}

func byAge(a, b string) int { return cmp.Compare(ageOf(a), ageOf(b)) }

// known writes the number of what was written before, or numbers it.
func (k *keyMaker) known(x unsafe.Pointer) bool {
	if n, ok := k.seen.find(x); ok {
		k.num(n)
		return true
	}
	k.num(-1)
	if !k.inline {
		k.count++
		k.seen.add(x, k.count)
	}
	return false
}

// code writes which function it is.
func (k *keyMaker) code(f *closure) {
	n, known := k.codes[f.code]
	if !known {
		n = int64(len(k.codes))
		k.codes[f.code] = n
	}
	k.num(n)
}

// key returns what stands for all states that are like this one.
func (k *keyMaker) key(w *world) []byte {
	k.w, k.now = w, w.now
	k.horizon = max(w.bounds.ttl, 2*w.bounds.ttl/2, time.Second) + grid
	k.rankAll()
	for i, pr := range w.procs {
		k.b, k.pr, k.ids[i] = k.parts[i][:0], pr, k.ids[i][:0]
		k.seen.clear()
		k.count = 0
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
	us := k.w.us()
	k.tokens, k.scores = append(k.tokens[:0], k.w.server.fence, k.w.used), append(k.scores[:0], 0, us)
	for _, pr := range k.w.procs {
		if pr.dead {
			continue
		}
		for _, t := range pr.p.tenures {
			b := blocksOf(&t.tokens)
			if t.phase == holding {
				k.tokens = append(k.tokens, b.next, b.end, b.spare, b.spareEnd)
			}
			if t.phase <= queued {
				k.scores = append(k.scores, t.arrival)
			}
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
	k.arrival(k.w.us())
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
	k.num(int64(w.bounds.callersOf(pr.n) - pr.come))
	k.inline = false
	k.nameIDs(pr)
	if !pr.dead {
		k.client(pr.p)
		for _, t := range pr.turns {
			k.bits(slices.Contains(w.over, t.Token))
			k.due(max(t.since.Add(w.bounds.hold), w.now))
			k.due(max(w.bounds.endOf(t), w.now))
			k.turn(t)
		}
		k.num(int64(compareAttempts(w.server.listens[pr.n], pr.p.sub.attempt)))
	}
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

// nameIDs numbers the ids of a process that anybody speaks of, the oldest first.
func (k *keyMaker) nameIDs(pr *searchProc) {
	all := k.ids[pr.n]
	note := func(id string) {
		if strings.HasPrefix(id, k.w.bounds.heads[pr.n]) && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	if !pr.dead {
		for id := range pr.p.tenures {
			note(id)
		}
		for e := range pr.p.cleanups {
			note(e.call.Args[0])
		}
	}
	note(k.w.server.lock)
	for _, q := range k.w.server.queue {
		note(q.id)
	}
	for _, m := range k.w.net {
		if m.proc != pr.n { // whose ids it tells does not matter to others
			continue
		}
		note(m.said.holder)
		note(m.said.id)
		for _, a := range m.call.Args {
			note(a)
		}
		if m.r != nil {
			note(m.r.Call.Args[0])
		}
	}
	slices.SortFunc(all, byAge)
	k.ids[pr.n] = all
}
