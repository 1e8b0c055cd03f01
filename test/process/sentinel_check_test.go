//go:build unix

package process_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
	"time"
)

// dismiss ends the work and looks at what happened.
func (c *workerSet) dismiss(t *testing.T) {
	t.Helper()
	for _, r := range c.all(t, order{Do: "rest"}) {
		if r.Err != "" {
			t.Error(r.Err)
		}
	}
	var stays []stay
	for _, d := range c.duties {
		text, err := os.ReadFile(d.Records)
		if err != nil {
			t.Fatal(err)
		}
		var some []stay
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatal(err)
		}
		stays = append(stays, some...)
	}
	c.checkLosses(t)
	stale := c.checkTokens(t, stays)
	overlaps := c.checkOverlaps(t, stays)
	t.Logf("%d failovers, %d stays with a token each; %d turns of a lock that was lost and %d overlaps before that was known", len(c.rounds), len(stays), stale, overlaps)
}

// checkLosses wants losses where they were forced, known in time.
func (c *workerSet) checkLosses(t *testing.T) {
	t.Helper()
	var locks, fences int
	var longest, slowest int64
	for n, r := range c.rounds {
		kept := 0
		for i, s := range r.sights {
			slowest = max(slowest, s.Recovered-r.began)
			for _, l := range s.Losses {
				if !l.Kept {
					continue
				}
				kept++
				late := l.Ended - s.Seen
				longest = max(longest, late)
				if late > known.Nanoseconds() {
					t.Errorf("failover %d (%v): process %d knew that %s was lost (%s) %v after it heard the new master, want at most %v",
						n, r.force, i, l.Name, l.Cause, time.Duration(late), *known)
				}
			}
		}
		if r.force.lag && (kept == 0 || r.lost == 0) {
			t.Errorf("failover %d (%v): %d locks and %d fences were lost, want some: nothing is proved", n, r.force, kept, r.lost)
		}
		locks += kept
		fences += r.lost
	}
	t.Logf("lost: %d kept locks and %d fences; longest from new master heard to loss known %v; longest until all had recovered %v",
		locks, fences, time.Duration(longest), time.Duration(slowest))
}

// unknown reports whether a process may still believe in a lock that is lost: from
// a master's end until a little after the process heard the next.
func (c *workerSet) unknown(process int, at int64) bool {
	return slices.ContainsFunc(c.rounds, func(r *round) bool {
		return at >= r.began && at <= r.sights[process].Seen+known.Nanoseconds()
	})
}

// checkTokens wants every token once, and a greater one for who called after
// another's Lock had returned. A process that could not know yet that its lock
// was lost may give on a token that the resource refuses; those are counted.
func (c *workerSet) checkTokens(t *testing.T, stays []stay) (stale int) {
	t.Helper()
	tokens := check{t: t, rule: "tokens"}
	for _, name := range names(stays) {
		of := slices.DeleteFunc(slices.Clone(stays), func(s stay) bool { return s.Name != name })
		known := map[int64]stay{}
		for _, s := range of {
			if twin, twice := known[s.Token]; twice {
				tokens.errorf("%s: %d was given to process %d and to %d", name, s.Token, twin.Process, s.Process)
			}
			known[s.Token] = s
		}
		called, got := slices.Clone(of), of
		slices.SortFunc(called, func(a, b stay) int { return cmp.Compare(a.Called, b.Called) })
		slices.SortFunc(got, func(a, b stay) int { return cmp.Compare(a.Got, b.Got) })
		var newest stay
		for _, s := range called {
			for len(got) > 0 && got[0].Got < s.Called {
				if got[0].Token > newest.Token {
					newest = got[0]
				}
				got = got[1:]
			}
			if s.Token > newest.Token {
				continue
			}
			if c.unknown(s.Process, s.Got) {
				stale++
				continue
			}
			tokens.errorf("%s: process %d got %d, after process %d had got %d, %v before", name, s.Process, s.Token,
				newest.Process, newest.Token, time.Duration(s.Called-newest.Got))
		}
	}
	return stale
}

// checkOverlaps wants one holder at a time, but where a lock was lost and its
// holder could not know.
func (c *workerSet) checkOverlaps(t *testing.T, stays []stay) (excused int) {
	t.Helper()
	overlaps := check{t: t, rule: "overlaps"}
	for _, name := range names(stays) {
		of := slices.DeleteFunc(slices.Clone(stays), func(s stay) bool { return s.Name != name })
		slices.SortFunc(of, func(a, b stay) int { return cmp.Compare(a.Got, b.Got) })
		var inside stay // of those before, the one that ended last
		for _, s := range of {
			if s.Got < inside.Ended {
				older, end := s, min(s.Ended, inside.Ended)
				if inside.Token < s.Token {
					older = inside
				}
				if c.unknown(older.Process, s.Got) && c.unknown(older.Process, end) {
					excused++
				} else {
					overlaps.errorf("%s: process %d was in with %d, and process %d with %d, for %v", name, inside.Process, inside.Token,
						s.Process, s.Token, time.Duration(end-s.Got))
				}
			}
			if s.Ended > inside.Ended {
				inside = s
			}
		}
	}
	return excused
}

func names(stays []stay) []string {
	all := map[string]bool{}
	for _, s := range stays {
		all[s.Name] = true
	}
	return slices.Sorted(maps.Keys(all))
}
