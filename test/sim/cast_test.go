package sim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

var (
	seeds    = flag.Uint64("sim.seeds", 100, "how many random runs to play in all; each test plays those of its cast. From 400 on TestCoverage wants each fault, step and state to be reached")
	first    = flag.Uint64("sim.first", 0, "the first of them")
	all      = flag.Bool("sim.all", false, "TestRandomRuns plays those of every cast")
	seed     = flag.Int64("sim.seed", -1, "TestRandomRuns plays only this run, and prints its history")
	keep     = flag.String("sim.keep", "", "of that run only these items, with commas between; empty: all")
	failures = flag.Int("sim.failures", 1, "how many runs may fail before a test stops")
	tries    = flag.Int("sim.shrink", 200, "how many smaller runs to try when one fails")
	summary  = flag.String("sim.json", "", "write what was counted to this `file`")
	mark     = flag.String("sim.mark", "", "write each seed to this `file` before it is played")
)

// outcome is what a run came to.
type outcome struct {
	broken   []string
	happened []string
	history  string
	tally    *sim.Tally
	log      *sim.Log
}

// cast is a sort of random run. Of 100 seeds so many are its.
type cast struct {
	name, test string
	of100      uint64
	play       func(t *testing.T, seed uint64, plan *sim.Plan) outcome
}

var casts = []cast{
	{"mutex", "TestRandomRuns", 36, ofRun(sim.NewRun)},
	{"shared", "TestSharedRandomRuns", 12, ofRun(sim.NewSharedRun)},
	{"several", "TestMultiRandomRuns", 10, ofRun(func(seed uint64, plan *sim.Plan) *sim.Run {
		s := sim.NewRun(seed, plan)
		s.Several()
		return s
	})},
	{"orders", "TestOrderRandomRuns", 15, ofRun(func(seed uint64, plan *sim.Plan) *sim.Run {
		s := sim.NewRun(seed, plan)
		s.Order()
		return s
	})},
	{"mixed", "TestMixedRandomRuns", 26, ofRun(sim.NewMixedRun)},
	{"quorum", "TestQuorumRandomRuns", 1, quorumRun},
}

func ofRun(write func(uint64, *sim.Plan) *sim.Run) func(*testing.T, uint64, *sim.Plan) outcome {
	return func(_ *testing.T, seed uint64, plan *sim.Plan) outcome {
		s := write(seed, plan)
		broken := s.Play()
		s.Close()
		return outcome{broken, plan.Happened(), s.History(5000), s.Tally, &s.Log}
	}
}

// castOf is the cast of a seed: what it is does not go with the seed's remainders,
// which say other things.
func castOf(seed uint64) cast {
	n := seed * 0x9e3779b97f4a7c15 >> 32 % 100
	for _, c := range casts {
		if n < c.of100 {
			return c
		}
		n -= c.of100
	}
	panic("the shares do not add up to 100")
}

// total is what all runs of this test counted, played how many of each cast.
var (
	total  = &sim.Tally{}
	played = map[string]int{}
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		*seeds = min(*seeds, 40)
	}
	code := m.Run()
	if testing.Verbose() && total.Runs > 0 {
		fmt.Print(total)
	}
	if *summary != "" {
		text, err := json.MarshalIndent(total, "", "  ")
		if err == nil {
			err = os.WriteFile(*summary, append(text, '\n'), 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "sim:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// randomRuns plays those of a cast. One thread runs them, so that a seed repeats its
// run to the letter.
func randomRuns(t *testing.T, name string) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if *seed >= 0 {
		if name == "mutex" {
			again(t, uint64(*seed))
		}
		return
	}
	failed := 0
	for n := *first; n < *first+*seeds && failed < *failures; n++ {
		c := castOf(n)
		if c.name != name && (!*all || name != "mutex") {
			continue
		}
		if *mark != "" {
			if err := os.WriteFile(*mark, fmt.Append(nil, n), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out := perform(t, c, n, nil)
		total.Add(out.tally)
		played[c.name]++
		if len(out.broken) > 0 {
			total.Broke(fmt.Sprintf("seed %d, %s", n, c.name), out.broken)
			failed++
			tell(t, c, n, out)
		}
	}
}

// again plays one run, and prints all of it.
func again(t *testing.T, n uint64) {
	t.Helper()
	var kept []string
	if *keep != "" {
		kept = strings.Split(*keep, ",")
	}
	out := perform(t, castOf(n), n, kept)
	total.Add(out.tally)
	t.Log("\n" + out.history)
	for _, b := range out.broken {
		t.Error(b)
	}
}

// oneThread leaves one thread, so that a seed repeats its run.
func oneThread(t *testing.T) {
	t.Helper()
	was := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
}

// perform plays the run of a seed, of the items of keep only, if it is not nil.
func perform(t *testing.T, c cast, seed uint64, keep []string) (out outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { out = c.play(t, seed, sim.NewPlan(keep)) })
	return out
}

// tell prints a run that failed, as short as can be found.
func tell(t *testing.T, c cast, n uint64, out outcome) {
	t.Helper()
	const rerun = "go test ./test/sim -run '^TestRandomRuns$' -count 1 -v -args -sim.seed %d"
	short := shrunk(t, c, n, out, *tries)
	lines := strings.SplitAfter(short.history, "\n")
	t.Logf("the shortest run found, %d of %d items, %d lines:\n%s", len(short.happened), len(out.happened), len(lines)-1,
		strings.Join(lines[max(0, len(lines)-150):], ""))
	for _, b := range out.broken[:min(len(out.broken), 8)] {
		t.Error(b)
	}
	t.Errorf("run %d (%s); to see it again, without -race:\n"+rerun+"\nand the short one:\n"+rerun+" -sim.keep '%s'", n, c.name, n, n, strings.Join(short.happened, ","))
}

// shrunk plays smaller runs, which break the same promise, for 15 s at most.
func shrunk(t *testing.T, c cast, n uint64, out outcome, tries int) outcome {
	t.Helper()
	best, until := out, time.Now().Add(15*time.Second)
	sim.Shrink(out.happened, tries, func(keep []string) ([]string, bool) {
		if time.Now().After(until) {
			return nil, false
		}
		smaller := perform(t, c, n, keep)
		for _, b := range smaller.broken {
			if promise(b) == promise(out.broken[0]) {
				best = smaller
				return smaller.happened, true
			}
		}
		return nil, false
	})
	return best
}

// promise is the one that a violation speaks of: "S1".
func promise(violation string) string {
	if _, text, ok := strings.Cut(violation, ": "); ok {
		violation = text
	}
	word, _, _ := strings.Cut(violation, ":")
	return word
}
