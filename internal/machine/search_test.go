package machine

import (
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var searchLimit = flag.Int("search.limit", 20_000, "states that TestSearch looks at within each bounds")

var searchWaits = flag.Int("search.waits", 1, "from every n-th state a fair way on is taken, to see how long it takes until all have had the name")

var largeSearch = flag.Bool("search.large", false, "TestSearch goes through the large bounds, too")

// searcher goes breadth first through all states that can be reached, so that the first that is
// broken has a shortest way to it.
type searcher struct {
	bounds *searchBounds
	key    keyMaker
	copier copier
	seed   [2]maphash.Seed
	seen   map[[2]uint64]struct{}
	from   []uint32 // of each state, the one before it
	how    []step   // and the step from there

	states, transitions, depth int
	done                       [evicts + 1]int
	broken                     string
	limit                      int
	patience                   time.Duration // the longest wait of a fair way on
	fairs                      int           // such ways taken
	way                        way
	path                       []uint32
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
	preparePlans()
	s := &searcher{bounds: b, seen: map[[2]uint64]struct{}{}, limit: limit}
	s.key.codes = map[uintptr]int64{}
	s.seed = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	start := newWorld(b)
	s.note(start)
	s.from, s.how = append(s.from, 0), append(s.how, step{})
	s.way = way{s: s, world: []*world{newWorld(b)}}
	level := []found{{start, 0}}
	for len(level) > 0 && s.broken == "" && s.states < limit {
		var next []found
		for i, f := range level {
			level[i].w = nil
			if f.w == nil {
				f.w = s.way.to(f.n)
			}
			if next = s.expand(f, next); s.broken != "" || s.states >= limit {
				break
			}
		}
		level = next
		s.depth++
	}
	return s
}

// note reports whether a state was not seen before.
func (s *searcher) note(w *world) bool {
	key := s.key.key(w)
	digest := [2]uint64{maphash.Bytes(s.seed[0], key), maphash.Bytes(s.seed[1], key)}
	if _, known := s.seen[digest]; known {
		return false
	}
	s.seen[digest] = struct{}{}
	s.states++
	return true
}

func (s *searcher) expand(f found, next []found) []found {
	for _, st := range f.w.next(nil) {
		w := f.w.after(&s.copier, st)
		s.transitions++
		s.done[st.what]++
		if w.broken == "" && !s.note(w) {
			continue
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
		oneEach("one caller each", func(*searchBounds) {}),
		oneEach("a crash", func(b *searchBounds) { b.faults.Crash = 1 }),
		oneEach("two messages lost", func(b *searchBounds) { b.faults.Lose = 2 }),
		oneEach("two connections fail", func(b *searchBounds) { b.faults.Reset = 2 }),
		oneEach("a message late", func(b *searchBounds) { b.faults.Delay = 1 }),
		oneEach("a long turn, a message late", func(b *searchBounds) { b.hold, b.faults.Delay = 3*grid, 1 }),
		oneEach("two messages doubled", func(b *searchBounds) { b.faults.Dup = 2 }),
		oneEach("a freeze", func(b *searchBounds) { b.faults.Freeze = 1 }),
		oneEach("subscriptions break", func(b *searchBounds) { b.faults.Break = 2 }),
		oneEach("callers give up, answers are lost", func(b *searchBounds) { b.giveUp, b.faults.Lose = true, 1 }),
		oneEach("three processes", func(b *searchBounds) { b.procs = 3 }),
		oneEach("three processes, crashes", func(b *searchBounds) { b.procs = 3; b.faults.Crash = 2 }),
		oneEach("the lock key is deleted", func(b *searchBounds) { b.faults.Evict = 1 }),
	}
}

// largeBounds are gone through with -search.large.
func largeBounds() []*searchBounds {
	return []*searchBounds{
		base("two callers each", func(b *searchBounds) { b.line = 2 }),
		oneEach("two freezes", func(b *searchBounds) { b.faults.Freeze = 2 }),
		base("two callers each, a crash", func(b *searchBounds) { b.faults.Crash = 1 }),
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

// TestSearch goes through all states within bounds.
func TestSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds")
	}
	limit := *searchLimit
	if raced {
		limit /= 20
	}
	all := smallBounds()
	if *largeSearch {
		all = append(all, largeBounds()...)
	}
	for _, b := range all {
		good := t.Run(b.name, func(t *testing.T) {
			began := time.Now()
			s := search(b, limit)
			t.Logf("%d states, %d transitions, depth %d, %v; %d waits, the longest %v", s.states, s.transitions, s.depth, time.Since(began).Round(time.Millisecond), s.fairs, s.patience)
			if s.broken != "" {
				fmt.Fprint(os.Stderr, s.trace())
				t.Error(s.broken)
			}
			if s.states >= limit {
				t.Log("there are more states: -search.limit sets how many are looked at")
			}
		})
		if !good {
			return // one trace is enough to read
		}
	}
}
