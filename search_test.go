package holdfast

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

var searchLimit = flag.Int("search.limit", 1_000_000, "states")

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
		w := copyOf(&p.s.copier, p.world[len(p.world)-1])
		w.do(p.s.how[n])
		p.at, p.world = append(p.at, n), append(p.world, w)
	}
	return p.world[len(p.world)-1]
}

var preparePlans = sync.OnceFunc(func() {
	planOf(reflect.TypeFor[world]())
	for _, t := range []reflect.Type{reflect.TypeFor[turn](), reflect.TypeFor[tenure](), reflect.TypeFor[cleanup](), reflect.TypeFor[dice]()} {
		planOf(t)
	}
})

func search(b *searchBounds, limit int) *searcher {
	preparePlans()
	s := &searcher{bounds: b, seen: map[[2]uint64]struct{}{}, limit: limit}
	s.key.seen = map[any]int{}
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
	print := [2]uint64{maphash.Bytes(s.seed[0], key), maphash.Bytes(s.seed[1], key)}
	if _, known := s.seen[print]; known {
		return false
	}
	s.seen[print] = struct{}{}
	s.states++
	return true
}

func (s *searcher) expand(f found, next []found) []found {
	for _, st := range f.w.next(nil) {
		w := copyOf(&s.copier, f.w)
		w.do(st)
		s.transitions++
		s.done[st.what]++
		if w.broken == "" && !s.note(w) {
			continue
		}
		n := uint32(len(s.from))
		s.from, s.how = append(s.from, f.n), append(s.how, st)
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

func smallBounds() []*searchBounds {
	once := func(name string, change func(*searchBounds)) *searchBounds {
		return base(name, func(b *searchBounds) { b.callers = 1; change(b) })
	}
	return []*searchBounds{
		base("one process", func(b *searchBounds) { b.procs = 1; b.line = 2 }),
		once("one caller each", func(b *searchBounds) {}),
		base("two callers each", func(b *searchBounds) { b.line = 2 }),
		base("a crash", func(b *searchBounds) { b.faults.Crash = 1 }),
		once("two messages lost", func(b *searchBounds) { b.faults.Lose = 2 }),
		once("two connections fail", func(b *searchBounds) { b.faults.Reset = 2 }),
		once("a message late", func(b *searchBounds) { b.faults.Delay = 1 }),
		once("two messages doubled", func(b *searchBounds) { b.faults.Dup = 2 }),
		once("freezes", func(b *searchBounds) { b.faults.Freeze = 2 }),
		once("subscriptions break", func(b *searchBounds) { b.faults.Break = 2 }),
		once("callers give up, answers are lost", func(b *searchBounds) { b.giveUp, b.faults.Lose = true, 1 }),
		once("three processes", func(b *searchBounds) { b.procs = 3; b.giveUp = true }),
		once("three processes, crashes", func(b *searchBounds) { b.procs = 3; b.faults.Crash = 2 }),
		once("three processes, a subscription breaks", func(b *searchBounds) { b.procs = 3; b.faults.Break = 1 }),
		once("the lock key is deleted", func(b *searchBounds) { b.faults.Evict = 1 }),
		once("a longer ttl", func(b *searchBounds) { b.ttl, b.window, b.faults.Delay, b.faults.Lose = 4*grid, 2*grid, 1, 1 }),
	}
}

// TestSearch goes through all states within bounds.
func TestSearch(t *testing.T) {
	for i, b := range smallBounds() {
		if i >= 2 && !*largeSearch {
			break
		}
		t.Run(b.name, func(t *testing.T) {
			began := time.Now()
			s := search(b, *searchLimit)
			t.Logf("%d states, %d transitions, depth %d, %v %v", s.states, s.transitions, s.depth, time.Since(began).Round(time.Millisecond), s.done)
			if s.broken != "" {
				fmt.Fprint(os.Stderr, s.trace())
				t.Error(s.broken)
			}
		})
	}
}
