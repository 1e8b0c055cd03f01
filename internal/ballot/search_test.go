package ballot

import (
	"flag"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	searchLimit  = flag.Int("search.limit", 0, "states that TestSearch looks at within each bounds; 0: all")
	searchWaits  = flag.Int("search.waits", 10, "from every n-th state a fair way on is taken, to see how long it takes until a client has the name")
	searchAlike  = flag.Int("search.alike", 50, "of the states that were seen before, every n-th is looked at: it has to go on as the one that was seen; 0: none")
	mediumSearch = flag.Bool("search.medium", false, "TestSearch goes through the medium bounds, too")
	largeSearch  = flag.Bool("search.large", false, "TestSearch goes through the medium and the large bounds, too")
	searchPart   = flag.String("search.part", "0/1", "with -search.medium: every M-th of the medium bounds, from the N-th on: `N/M`")
)

// searcher goes breadth first through all states that can be reached, so that the first that is
// broken has a shortest way to it.
type searcher struct {
	bounds  *searchBounds
	without check
	key     keyMaker
	seed    [2]maphash.Seed
	seen    map[digest]uint32 // by the key of a state: its number
	from    []uint32          // of each state, the one before it
	how     []step            // and the step from there
	after   map[uint32]uint64 // what follows a state, as a sum
	twins   []twin

	transitions, depth, repeated, ends, fairs int
	done                                      [stepKinds]int
	patience                                  time.Duration // the longest wait of a fair way on
	broken                                    string
	whole                                     bool // all states were looked at
}

// digest stands for a key.
type digest [2]uint64

// twin is a state that was seen before: of is the number that it had then.
type twin struct {
	of, from uint32
	how      step
	after    uint64
}

type found struct {
	w *world // nil: take the way there again
	n uint32
}

// keptLive is how many states of one level are kept whole.
const keptLive = 20_000

func search(b *searchBounds, without check, limit int) *searcher {
	s := &searcher{bounds: b, without: without, seen: map[digest]uint32{}, after: map[uint32]uint64{}}
	s.seed = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	start := newWorld(b, without)
	s.seen[s.digest(start)] = 0
	s.from, s.how = append(s.from, 0), append(s.how, step{})
	level := []found{{start, 0}}
	for len(level) > 0 {
		var next []found
		for i, f := range level {
			level[i].w = nil
			if f.w == nil {
				f.w = s.to(f.n)
			}
			if next = s.expand(f, next); s.broken != "" || limit > 0 && len(s.from) >= limit || searchFailed.Load() {
				return s
			}
		}
		level = next
		s.depth++
	}
	s.whole = true
	return s
}

// steps are those from the start to a state.
func (s *searcher) steps(n uint32) (steps []step) {
	for ; n > 0; n = s.from[n] {
		steps = append(steps, s.how[n])
	}
	slices.Reverse(steps)
	return steps
}

func (s *searcher) to(n uint32) *world {
	w := newWorld(s.bounds, s.without)
	for _, st := range s.steps(n) {
		w.do(st)
	}
	return w
}

func (s *searcher) digest(w *world) digest {
	key := s.key.key(w)
	return digest{maphash.Bytes(s.seed[0], key), maphash.Bytes(s.seed[1], key)}
}

func (s *searcher) expand(f found, next []found) []found {
	sum := uint64(0)
	for _, st := range f.w.next(nil) {
		w := f.w.after(st)
		s.transitions++
		s.done[st.what]++
		d := s.digest(w)
		sum += d[0] * uint64(1+st.what)
		of, known := s.seen[d]
		if known && w.broken == "" {
			s.twin(w, twin{of: of, from: f.n, how: st})
			continue
		}
		n := uint32(len(s.from))
		s.seen[d] = n
		s.from, s.how = append(s.from, f.n), append(s.how, st)
		s.goOn(w)
		if w.broken != "" {
			s.broken = w.broken
			return next
		}
		if len(next) > keptLive {
			w = nil
		}
		next = append(next, found{w, n})
	}
	if *searchAlike > 0 {
		s.after[f.n] = sum
	}
	return next
}

// goOn looks at the end of a state, or how long a client waits from there.
func (s *searcher) goOn(w *world) {
	if w.broken != "" || w.bounds.loose || w.bounds.replace {
		return
	}
	if w.done() {
		s.ends++
		if broken := w.littered(); broken != "" {
			w.breaks(broken)
		}
	}
	if len(s.from)%*searchWaits > 0 {
		return
	}
	for n, c := range w.clients {
		if !c.dead && s.without == "" {
			s.fairs++
			waited, broken := w.fairly(n)
			if s.patience = max(s.patience, waited); broken != "" {
				w.breaks(broken)
			}
		}
	}
}

// twin notes how a state goes on that was seen before.
func (s *searcher) twin(w *world, t twin) {
	if s.repeated++; *searchAlike == 0 || s.repeated%*searchAlike > 0 {
		return
	}
	for _, st := range w.next(nil) {
		t.after += s.digest(w.after(st))[0] * uint64(1+st.what)
	}
	s.twins = append(s.twins, t)
}

// unlike are two states with one key that go on differently, as text; "": there are none.
func (s *searcher) unlike() string {
	for _, t := range s.twins {
		if after, known := s.after[t.of]; known && after != t.after {
			return "one:\n" + s.to(t.of).print() + "other:\n" + s.to(t.from).after(t.how).print()
		}
	}
	return ""
}

// trace is the way to the newest state.
func (s *searcher) trace() string {
	var b strings.Builder
	w := newWorld(s.bounds, s.without)
	for i, st := range s.steps(uint32(len(s.from) - 1)) {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, w.text(st))
		w.do(st)
		b.WriteString(w.print())
	}
	fmt.Fprintf(&b, "     broken: %s\n", s.broken)
	return b.String()
}

// base are small bounds: two clients with a try each on three nodes. A lease lasts two ticks. One
// message is as late as it likes, the others arrive in the tick in which they were sent, in any order.
func base(name string, change func(*searchBounds)) *searchBounds {
	b := &searchBounds{name: name, nodes: 3, tries: []int{1, 1}, ticks: 2, clamp: 1000}
	change(b)
	return b.prepare()
}

// forgets is for bounds in which a node forgets: once it votes again, it gives tokens from its clock.
func (b *searchBounds) forgets() {
	b.ticks, b.horizon, b.sitOut, b.faults.Restart, b.forget = 1, 3, grid, 1, true
}

func (b *searchBounds) replaces() {
	b.nodes, b.replace, b.ticks, b.horizon, b.sitOut = 5, true, 1, 2, grid
}

// smallBounds are those of each test run.
func smallBounds() []*searchBounds {
	return []*searchBounds{
		base("a message late", func(b *searchBounds) { b.faults.Late = 1 }),
		base("no answer in time", func(b *searchBounds) { b.attempt, b.faults.Late = grid, 1 }),
		base("nodes are silent", func(b *searchBounds) { b.quick, b.faults.Late, b.ticks = true, 1, 1 }),
		base("a try is given up", func(b *searchBounds) { b.giveUp, b.ticks = true, 1 }),
		base("a client dies", func(b *searchBounds) { b.faults.Crash = 1 }),
		base("clocks of nodes differ", func(b *searchBounds) { b.ahead, b.turns = 2000, true }),
		base("a client's clock is far ahead", func(b *searchBounds) { b.far = true }),
		base("a renewal that is late", func(b *searchBounds) { b.renew, b.renewing = 1, true }),
		base("a renewal that is late and lost", func(b *searchBounds) { b.renew, b.renewing, b.renewalLost = 1, true, true }),
		base("a node restarts with its data", func(b *searchBounds) { b.faults.Restart, b.keep, b.sitOut, b.won = 1, true, b.ttl(), true }),
		base("a node restarts and forgets", func(b *searchBounds) { b.forgets(); b.won = true }),
		base("a node restarts empty", func(b *searchBounds) { b.forgets(); b.forget, b.empty, b.won = false, true, true }),
	}
}

// mediumBounds are gone through with -search.medium.
func mediumBounds() []*searchBounds {
	return []*searchBounds{
		base("a message doubled", func(b *searchBounds) { b.faults.Dup, b.ticks = 1, 1 }),
		base("a message lost", func(b *searchBounds) { b.faults.Lose, b.attempt, b.won = 1, grid, true }),
		base("a connection fails", func(b *searchBounds) { b.faults.Fail, b.ticks, b.won = 1, 1, true }),
		base("two tries", func(b *searchBounds) { b.tries, b.won = []int{2, 1}, true }),
		base("lock keys end at any time", func(b *searchBounds) { b.loose, b.ahead, b.won = true, 2000, true }),
		base("a renewal", func(b *searchBounds) { b.renew, b.won = 1, true }),
		base("the quorum is replaced", func(b *searchBounds) { b.replaces(); b.won = true }),
		base("a message late, clocks of nodes differ", func(b *searchBounds) { b.faults.Late, b.ahead, b.turns = 1, 2000, true }),
	}
}

// largeBounds are gone through with -search.large.
func largeBounds() []*searchBounds {
	late := func(b *searchBounds) { b.faults.Late = noLimit }
	return []*searchBounds{
		base("each message late", func(b *searchBounds) { late(b); b.ticks = 1 }),
		base("each message late, clocks of nodes differ", func(b *searchBounds) { late(b); b.ticks, b.ahead, b.turns, b.won = 1, 2000, true, true }),
		base("each message late, nodes are silent", func(b *searchBounds) { late(b); b.quick, b.ticks, b.won = true, 1, true }),
		base("each message late, a lease is renewed", func(b *searchBounds) { late(b); b.renew, b.won = 1, true }),
		base("each message late, a node restarts and forgets", func(b *searchBounds) { late(b); b.forgets(); b.won = true }),
		base("each message late, the quorum is replaced", func(b *searchBounds) { late(b); b.replaces(); b.won = true }),
		base("a message doubled and one late", func(b *searchBounds) { b.faults.Dup, b.faults.Late, b.ticks, b.won = 1, 1, 1, true }),
		base("two renewals", func(b *searchBounds) { b.renew, b.won = 2, true }),
		base("two tries each", func(b *searchBounds) { b.tries, b.won = []int{2, 2}, true }),
		base("five nodes", func(b *searchBounds) { b.nodes, b.ticks, b.won = 5, 1, true }),
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
	s := search(b, "", limit)
	t.Logf("%d states, %d transitions, depth %d, %.1f s; %d ends; %d waits, the longest %v; %d seen again and compared",
		len(s.from), s.transitions, s.depth, time.Since(began).Seconds(), s.ends, s.fairs, s.patience, len(s.twins))
	if s.broken != "" && !searchFailed.Swap(true) {
		t.Fatalf("%s\n%s", s.broken, s.trace())
	}
	if wrong := s.unlike(); wrong != "" {
		t.Errorf("two states with one key go on differently:\n%s", wrong)
	}
	if !s.whole {
		t.Log("there are more states")
	} else if never := s.never(); never != "" {
		t.Errorf("within these bounds it can happen that something %s, and it did not", never)
	}
}

// never is a step that can happen within the bounds and did not; "": there is none.
func (s *searcher) never() string {
	b, f := s.bounds, &s.bounds.faults
	for what, can := range map[stepKind]bool{
		timePasses: true, runs: true, arrives: true, begins: true, releases: true,
		isDelayed: f.Late > 0 && f.Late < noLimit, isLost: f.Lose > 0, connectionFails: f.Fail > 0, isDoubled: f.Dup > 0, crashes: f.Crash > 0,
		givesUp: b.giveUp, renewalIsSent: b.renew > 0 && !b.renewing, usesLastToken: b.turns, endsEarly: b.loose,
		restarts: f.Restart > 0, noticesRestart: f.Restart > 0 && (b.keep || b.forget), removesMember: b.replace, addsMember: b.replace,
	} {
		if can && s.done[what] == 0 {
			return stepTexts[what]
		}
	}
	return ""
}

// checks are taken out of what is around the Ballots, one at a time. The search finds each. Those of
// the Ballot itself are taken out of its code, see test/mutation.
var checks = []struct {
	check  check
	broken string
	states int // within which it is found
	bounds *searchBounds
}{
	{markerCheck, twoHolders, 1_000, base("", func(b *searchBounds) { b.forgets(); b.forget, b.empty, b.won = false, true, true })},
	{restartCheck, twoHolders, 2_000, base("", func(b *searchBounds) { b.forgets(); b.won = true })},
	{idCheck, tokenFell, 3_000, base("", func(b *searchBounds) { b.tries, b.won = []int{2, 1}, true })},
	{sitOutCheck, twoHolders, 20_000, base("", func(b *searchBounds) { b.replaces(); b.won = true })},
	{clampCheck, tokenFell, 20_000, base("", func(b *searchBounds) { b.forgets(); b.far, b.won, b.faults.Late = true, true, 1 })},
	{raiseCheck, tokenTwice, 100_000, base("", func(b *searchBounds) { b.loose, b.ahead = true, 2000 })},
	{renewCheck, twoHolders, 200_000, base("", func(b *searchBounds) {
		b.replaces()
		b.midway, b.renew, b.won, b.ticks, b.sitOut, b.horizon = true, 1, true, 2, 2*grid, 2
	})},
	{fenceCheck, twoHolders, 200_000, base("", func(b *searchBounds) { b.replaces(); b.horizon = 1 })},
}

func TestSearchFindsChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds")
	}
	most := 20_000 // the others take longer
	if raced {
		most = 3_000
	} else if *mediumSearch || *largeSearch {
		most = 200_000
	}
	for _, c := range checks {
		if c.states > most {
			continue
		}
		t.Run(string(c.check), func(t *testing.T) {
			t.Parallel()
			s := search(c.bounds, c.check, c.states)
			t.Logf("%s: %d states, %d transitions, depth %d: %s", c.check, len(s.from), s.transitions, s.depth, s.broken)
			if s.broken != c.broken {
				t.Errorf("broken is %q, want %q\n%s", s.broken, c.broken, s.trace())
			}
		})
	}
}
