package machine

import (
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var searchLimit = flag.Int("search.limit", 0, "states that TestSearch looks at within each bounds; 0: all")

var searchWaits = flag.Int("search.waits", 10, "from every n-th state a fair way on is taken, to see how long it takes until all have had the name")

var searchAlike = flag.Int("search.alike", 50, "of the states that were seen before, every n-th is looked at: it has to go on as the one that was seen; 0: none")

var (
	mediumSearch = flag.Bool("search.medium", false, "TestSearch goes through the medium bounds, too: a minute")
	largeSearch  = flag.Bool("search.large", false, "TestSearch goes through the medium and the large bounds, too")
	searchPart   = flag.String("search.part", "0/1", "with -search.medium: every M-th of the medium bounds, from the N-th on: `N/M`")
)

// searcher goes breadth first through all states that can be reached, so that the first that is
// broken has a shortest way to it.
type searcher struct {
	bounds *searchBounds
	key    keyMaker
	copier copier
	seed   [2]maphash.Seed
	seen   map[digest]uint32 // by the key of a state: its number
	from   []uint32          // of each state, the one before it
	how    []step            // and the step from there

	states, transitions, depth int
	done                       [evicts + 1]int
	broken                     string
	whole                      bool // all states were looked at
	limit                      int
	patience                   time.Duration // the longest wait of a fair way on
	fairs                      int           // such ways taken
	way                        way
	path                       []uint32

	every    int              // of those states that were seen before, every n-th is looked at; 0: none
	repeated int              // states that were seen before
	after    map[uint32]int64 // what follows a state that was gone on from
	twins    []twin
}

// digest stands for a key.
type digest [2]uint64

// twin is a state with the key of another.
type twin struct {
	of    uint32
	from  uint32 // one step before it
	how   step
	after int64
}

type found struct {
	w *world // nil: take the way there again
	n uint32
}

// keptLive is how many states of one level are kept whole. A state takes some kilobytes.
const keptLive = 5000

// way is the way to a state, with all states on it. Two states that are found one after the other
// have most of their way in common.
type way struct {
	s     *searcher
	at    []uint32
	world []*world
}

func (p *way) to(n uint32) *world {
	p.s.path = p.s.path[:0]
	for ; n > 0; n = p.s.from[n] {
		p.s.path = append(p.s.path, n)
	}
	slices.Reverse(p.s.path)
	common := 0
	for common < len(p.at) && common < len(p.s.path) && p.at[common] == p.s.path[common] {
		common++
	}
	clear(p.world[common+1:])
	p.at, p.world = p.at[:common], p.world[:common+1]
	for _, n := range p.s.path[common:] {
		w := p.world[len(p.world)-1].after(&p.s.copier, p.s.how[n])
		p.at, p.world = append(p.at, n), append(p.world, w)
	}
	return p.world[len(p.world)-1]
}

var preparePlans = sync.OnceFunc(func() {
	planOf(reflect.TypeFor[owned]())
	for _, t := range []reflect.Type{reflect.TypeFor[Turn](), reflect.TypeFor[Tenure](), reflect.TypeFor[cleanup](), reflect.TypeFor[dice]()} {
		planOf(t)
	}
})

func search(b *searchBounds, limit int) *searcher {
	s := &searcher{bounds: b, seen: map[digest]uint32{}, limit: limit, every: *searchAlike, after: map[uint32]int64{}}
	s.key.codes = map[uintptr]int64{}
	s.seed = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	start := newWorld(b)
	s.note(s.digest(start))
	s.from, s.how = append(s.from, 0), append(s.how, step{})
	s.way = way{s: s, world: []*world{newWorld(b)}}
	level := []found{{start, 0}}
	for len(level) > 0 && s.broken == "" && !s.cut() && !searchFailed.Load() {
		var next []found
		for i, f := range level {
			level[i].w = nil
			if f.w == nil {
				f.w = s.way.to(f.n)
			}
			if next = s.expand(f, next); s.broken != "" || s.cut() {
				break
			}
		}
		level = next
		s.depth++
	}
	s.whole = len(level) == 0
	return s
}

// cut reports whether the search was ended before it had seen all states.
func (s *searcher) cut() bool { return s.limit > 0 && s.states >= s.limit }

// never is a step that can happen within the bounds and did not; "": there is none.
func (s *searcher) never() string {
	f := &s.bounds.faults
	for what, can := range map[stepKind]bool{
		timePasses: true, runs: true, arrives: true, timersFire: true, callerComes: true, releases: true,
		isLost: f.Lose > 0, connectionFails: f.Reset > 0, isDelayed: f.Delay > 0, isDoubled: f.Dup > 0, givesUpAnswer: f.Lose > 0,
		crashes: f.Crash > 0, freezes: f.Freeze > 0, thaws: f.Freeze > 0, dropsSubscription: f.Break > 0, noticesBreak: f.Break > 0,
		callerGivesUp: s.bounds.giveUp, evicts: f.Evict > 0,
	} {
		if can && s.done[what] == 0 {
			return stepTexts[what]
		}
	}
	return ""
}

// note reports whether a state was not seen before. If it was, n is its number.
func (s *searcher) note(d digest) (n uint32, fresh bool) {
	if n, known := s.seen[d]; known {
		return n, false
	}
	s.seen[d] = uint32(len(s.from))
	s.states++
	return 0, true
}

func (s *searcher) digest(w *world) digest {
	key := s.key.key(w)
	return digest{maphash.Bytes(s.seed[0], key), maphash.Bytes(s.seed[1], key)}
}

func (s *searcher) expand(f found, next []found) []found {
	after := int64(0)
	for _, st := range f.w.next(nil) {
		w := f.w.after(&s.copier, st)
		s.transitions++
		s.done[st.what]++
		d := s.digest(w)
		after += s.follower(st, d, w.broken)
		if w.broken == "" {
			if of, fresh := s.note(d); !fresh {
				s.twin(w, twin{of: of, from: f.n, how: st})
				continue
			}
		}
		n := uint32(len(s.from))
		s.from, s.how = append(s.from, f.n), append(s.how, st)
		if w.broken == "" && s.states%*searchWaits == 0 {
			s.wait(w)
		}
		if w.broken != "" {
			s.broken = w.broken
			return next
		}
		if len(next) > keptLive {
			w = nil
		}
		next = append(next, found{w, n})
	}
	if s.every > 0 {
		s.after[f.n] = after
	}
	return next
}

// wait looks how long those wait that wait now, if from now on nothing fails.
func (s *searcher) wait(w *world) {
	s.fairs++
	waited, broken := w.fairly(&s.copier, nil)
	s.patience = max(s.patience, waited)
	if broken != "" {
		w.breaks(broken)
	}
}

// trace is the way to the newest state.
func (s *searcher) trace() string {
	var steps []step
	for n := uint32(len(s.from) - 1); n > 0; n = s.from[n] {
		steps = append(steps, s.how[n])
	}
	var b strings.Builder
	w := newWorld(s.bounds)
	for i := len(steps) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "%3d. %s\n", len(steps)-i, w.text(steps[i]))
		w.do(steps[i])
		b.WriteString(w.print())
	}
	if w.broken == "" {
		b.WriteString("     from here on nothing fails:\n")
		_, w.broken = w.fairly(&s.copier, &b)
	}
	fmt.Fprintf(&b, "     broken: %s\n", w.broken)
	return b.String()
}

// base are small bounds: two processes whose messages arrive at once unless something fails,
// and each wants the name twice.
func base(name string, change func(*searchBounds)) *searchBounds {
	b := &searchBounds{name: name, procs: 2, callers: 2, line: 1, ttl: 2 * grid, window: grid, block: 1, hold: grid}
	change(b)
	return b
}

// oneEach are bounds where each process gets one caller.
func oneEach(name string, change func(*searchBounds)) *searchBounds {
	return base(name, func(b *searchBounds) { b.callers = 1; change(b) })
}

// smallBounds are those of each test run.
func smallBounds() []*searchBounds {
	return []*searchBounds{
		base("one process", func(b *searchBounds) { b.procs, b.callers, b.line = 1, 3, 2 }),
		base("one process, the lock key is deleted", func(b *searchBounds) { b.procs, b.callers, b.line, b.faults.Evict = 1, 3, 2, 1 }),
		oneEach("one caller each", func(*searchBounds) {}),
		oneEach("a crash", func(b *searchBounds) { b.faults.Crash = 1 }),
		oneEach("a message lost", func(b *searchBounds) { b.faults.Lose = 1 }),
		oneEach("a connection fails", func(b *searchBounds) { b.faults.Reset = 1 }),
		oneEach("a message late", func(b *searchBounds) { b.faults.Delay = 1 }),
		oneEach("a long turn, a message late", func(b *searchBounds) { b.hold, b.faults.Delay = 3*grid, 1 }),
		oneEach("a message doubled", func(b *searchBounds) { b.faults.Dup = 1 }),
		oneEach("three callers, long turns, a crash", func(b *searchBounds) { b.more, b.hold, b.faults.Crash = 1, 3*grid, 1 }),
		oneEach("three callers, a waiting lock doubled", func(b *searchBounds) { b.more, b.faults.Dup, b.dupWait = 1, 1, true }),
		oneEach("a freeze", func(b *searchBounds) { b.faults.Freeze = 1 }),
		oneEach("a subscription breaks", func(b *searchBounds) { b.faults.Break = 1 }),
		oneEach("callers give up, a crash", func(b *searchBounds) { b.giveUp, b.faults.Crash = true, 1 }),
		oneEach("callers give up", func(b *searchBounds) { b.giveUp = true }),
		oneEach("three processes", func(b *searchBounds) { b.procs = 3 }),
		oneEach("three processes, a crash", func(b *searchBounds) { b.procs = 3; b.faults.Crash = 1 }),
		oneEach("the lock key is deleted", func(b *searchBounds) { b.faults.Evict = 1 }),
	}
}

// mediumBounds are gone through with -search.medium.
func mediumBounds() []*searchBounds {
	return []*searchBounds{
		oneEach("two messages lost", func(b *searchBounds) { b.faults.Lose = 2 }),
		oneEach("two connections fail", func(b *searchBounds) { b.faults.Reset = 2 }),
		oneEach("two messages doubled", func(b *searchBounds) { b.faults.Dup = 2 }),
		oneEach("callers give up, an answer is lost", func(b *searchBounds) { b.giveUp, b.faults.Lose = true, 1 }),
		oneEach("three processes, crashes", func(b *searchBounds) { b.procs = 3; b.faults.Crash = 2 }),
		base("two callers each", func(b *searchBounds) { b.line = 2 }),
		base("two callers each, a crash", func(b *searchBounds) { b.faults.Crash = 1 }),
		oneEach("two freezes", func(b *searchBounds) { b.faults.Freeze = 2 }),
		oneEach("subscriptions break", func(b *searchBounds) { b.faults.Break = 2 }),
	}
}

// largeBounds are gone through with -search.large.
func largeBounds() []*searchBounds {
	return []*searchBounds{
		oneEach("three callers, a message late", func(b *searchBounds) { b.more, b.faults.Delay = 1, 1 }),
		oneEach("three callers, a message doubled", func(b *searchBounds) { b.more, b.faults.Dup = 1, 1 }),
		oneEach("callers of three processes give up", func(b *searchBounds) { b.procs, b.giveUp = 3, true }),
		oneEach("three processes, a subscription breaks", func(b *searchBounds) { b.procs, b.faults.Break = 3, 1 }),
		oneEach("a longer ttl", func(b *searchBounds) { b.ttl, b.window, b.faults.Delay, b.faults.Lose = 4*grid, 2*grid, 1, 1 }),
		oneEach("two messages late", func(b *searchBounds) { b.faults.Delay = 2 }),
		base("two callers each, a message lost", func(b *searchBounds) { b.faults.Lose = 1 }),
		base("two callers each, a message doubled", func(b *searchBounds) { b.faults.Dup = 1 }),
		base("two callers each, a message late", func(b *searchBounds) { b.faults.Delay = 1 }),
		base("two callers each, a freeze", func(b *searchBounds) { b.faults.Freeze = 1 }),
		base("two callers each, a subscription breaks", func(b *searchBounds) { b.faults.Break = 1 }),
		base("two callers each give up", func(b *searchBounds) { b.giveUp = true }),
		oneEach("lost, late and doubled, once each", func(b *searchBounds) { b.faults = faults{Lose: 1, Delay: 1, Dup: 1} }),
		oneEach("three processes, one dies, one freezes", func(b *searchBounds) { b.procs, b.faults = 3, faults{Crash: 1, Freeze: 1} }),
	}
}

// searchFailed is set when a search has found something: one trace is enough to read.
var searchFailed atomic.Bool

// TestSearch goes through all states within bounds.
func TestSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds")
	}
	limit := *searchLimit
	if limit == 0 && raced {
		limit = 1000
	}
	all := smallBounds()
	if *mediumSearch || *largeSearch {
		all = append(all, partOf(t, mediumBounds())...)
	}
	if *largeSearch {
		all = append(all, largeBounds()...)
	}
	percent := debug.SetGCPercent(800) // states are many and live short
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			searchAll(t, b, limit)
		})
	}
}

// partOf returns what -search.part names of the bounds.
func partOf(t *testing.T, all []*searchBounds) (some []*searchBounds) {
	t.Helper()
	var n, parts int
	if _, err := fmt.Sscanf(*searchPart, "%d/%d", &n, &parts); err != nil || n < 0 || n >= parts {
		t.Fatalf("-search.part %s: want N/M, N from 0 to M-1", *searchPart)
	}
	for i := n; i < len(all); i += parts {
		some = append(some, all[i])
	}
	return some
}

func searchAll(t *testing.T, b *searchBounds, limit int) {
	began := time.Now()
	s := search(b, limit)
	t.Logf("%d states, %d transitions, depth %d, %.1f s; %d waits, the longest %v; %d seen again and compared", s.states, s.transitions, s.depth, time.Since(began).Seconds(), s.fairs, s.patience, len(s.twins))
	if s.broken != "" && !searchFailed.Swap(true) {
		fmt.Fprint(os.Stderr, s.trace())
		t.Error(s.broken)
	}
	if wrong := s.unlike(); wrong != "" {
		t.Errorf("two states with one key go on differently:\n%s", wrong)
	}
	if !s.whole {
		t.Log("there are more states")
	} else if never := s.never(); never != "" {
		t.Errorf("within these bounds it can happen that %s, and it did not", never)
	}
}
