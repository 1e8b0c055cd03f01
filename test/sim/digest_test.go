package sim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/sim"
)

var (
	digests = flag.String("sim.digest", "", "TestDigest adds a line with each run's seed and hash to this `file`")
	plays   = flag.Int("sim.plays", 1, "how often it plays each run; it writes each hash that it met")
	traced  = flag.String("sim.trace", "", "TestDigest writes what happened in the run -sim.first to this `file`")
)

// TestDigest is what simulate -digest runs. Without its flags it plays one run of
// each cast and looks whether names.txt knows all names that are met.
func TestDigest(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	oneThread(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector interrupts goroutines, and so changes their order
	if *traced != "" {
		text := strings.Join(digestOf(t, *first).Lines(), "\n") + "\n"
		if err := os.WriteFile(*traced, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if *digests == "" {
		seen := map[string]bool{}
		for n := uint64(0); len(seen) < len(casts); n++ {
			if name := castOf(n).name; !seen[name] {
				seen[name] = true
				for _, unknown := range digestOf(t, n).Unknown() {
					t.Errorf("seed %d: testdata/names.txt has no row for the %s", n, unknown)
				}
			}
		}
		return
	}
	file, err := os.OpenFile(*digests, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for n := *first; n < *first+*seeds; n++ {
		var sums []string
		met := map[string]bool{}
		for range *plays {
			if sum := digestOf(t, n).Sum(); !met[sum] {
				met[sum] = true
				sums = append(sums, sum)
			}
		}
		if _, err := fmt.Fprintln(file, n, strings.Join(sums, " ")); err != nil {
			t.Fatal(err)
		}
	}
}

func digestOf(t *testing.T, n uint64) *sim.Log {
	t.Helper()
	runtime.GC()
	return perform(t, castOf(n), n, nil).log
}
