package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// kinds are the scripts of each pipeline.
func (s *distant) kinds() (all [][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sent {
		if c.method == "EvalAll" {
			all = append(all, c.kinds)
		}
	}
	return all
}

// count is how often a script was sent in pipelines.
func (s *distant) count(kind string) (n int) {
	for _, kinds := range s.kinds() {
		for _, k := range kinds {
			if k == kind {
				n++
			}
		}
	}
	return n
}

// sentAlone fails where an id never had a script of its own.
func (s *distant) sentAlone(t *testing.T, ids map[string]bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sent {
		for _, id := range c.ids {
			delete(ids, id)
		}
	}
	if len(ids) > 0 {
		t.Errorf("never sent by themselves: %v", ids)
	}
}

// What gathers is one script.
func TestBatchIsOneScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		manyCalls(t, client, 100)
		for _, kinds := range store.kinds() {
			if !slices.Equal(kinds, []string{"lock_batch"}) && len(kinds) >= 4 {
				t.Errorf("a pipeline of %v, want one batch", kinds)
			}
		}
		if got := store.count("lock_batch"); got < 2 {
			t.Errorf("%d batches, want two or more", got)
		}
	})
}

// Three are no batch.
func TestThreeAreNoBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		manyCalls(t, client, 19)
		if got := store.kinds()[0]; !slices.Equal(got, []string{"lock", "lock", "lock"}) {
			t.Errorf("three were sent as %v, want by themselves", got)
		}
	})
}

// Whoever is left alone is asked for by a script of its own at once, and gets the
// answer to that.
func TestContendedNamesAreNotBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		left := map[string]bool{}
		store.batch = func(call driver.Call) driver.Result {
			all := served(call)
			for i := range all.Reply {
				if i%3 == 0 {
					all.Reply[i] = "again"
					left[call.Args[2*i]] = true
				}
			}
			return all
		}
		manyCalls(t, client, 80) // fails where somebody gets nothing
		if len(left) == 0 {
			t.Fatal("nobody was left alone")
		}
		store.sentAlone(t, left)
	})
}

// Names that others want are remembered for a minute: they go by scripts of their own.
func TestWantedNamesAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		asked := 0
		store.batch = func(call driver.Call) driver.Result {
			all := served(call)
			for i := range all.Reply {
				all.Reply[i] = "again"
			}
			asked += len(all.Reply)
			return all
		}
		manyCalls(t, client, 40)
		once := asked
		manyCalls(t, client, 40) // other names may be in a batch now: those that were not the first time
		if again := asked - once; once < 20 || again > 40-once {
			t.Errorf("a batch was asked for %d names, and for %d behind that, want %d at most", once, again, 40-once)
		}
		time.Sleep(time.Minute)
		before := asked
		manyCalls(t, client, 40)
		if asked == before {
			t.Error("a minute later no name was in a batch, want them tried again")
		}
	})
}

// A server that refuses it, as it may where a right is missing, has everybody ask by
// himself, and is not asked again for a minute.
func TestBatchIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		store.batch = func(driver.Call) driver.Result {
			return driver.Result{Err: driver.ServerError("NOPERM User app has no permissions to run the 'exists' command")}
		}
		manyCalls(t, client, 30)
		refused := store.count("lock_batch")
		manyCalls(t, client, 30)
		if got := store.count("lock_batch"); refused == 0 || got != refused {
			t.Errorf("%d batches after %d were refused, want none for a minute", got-refused, refused)
		}
		time.Sleep(time.Minute)
		store.batch = nil
		manyCalls(t, client, 30)
		if got := store.count("lock_batch"); got == refused {
			t.Error("no batch after a minute, want one again")
		}
	})
}

// Nobody knows whether a batch ran that was not answered: nothing is sent again in its
// name, and each asks again by itself, with the same id.
func TestBatchWithoutAnAnswer(t *testing.T) {
	for name, broken := range map[string]driver.Result{
		"an error": {Err: errors.New("connection reset")}, "an answer too short": {Reply: []string{"granted 3527400000000063 64 0 1763700000 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, client := far(t, holdfast.Options{})
				var first driver.Call
				store.batch = func(call driver.Call) driver.Result {
					if first.Script == nil {
						first = call
						return broken
					}
					return served(call)
				}
				manyCalls(t, client, 30)
				if len(first.Keys) != 3*14 {
					t.Fatalf("the first batch had %d keys, want those of 14", len(first.Keys))
				}
				ids := map[string]bool{}
				for i := 0; i < len(first.Args); i += 2 {
					ids[first.Args[i]] = true
				}
				store.sentAlone(t, ids)
			})
		})
	}
}

// The requests of one line keep their order: a lock that was given up while it gathered
// stays in front of its cancel.
func TestBatchKeepsTheOrderOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		var others sync.WaitGroup
		others.Go(func() { manyCalls(t, client, 16+8) })
		defer others.Wait()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		others.Go(func() {
			if _, err := client.Mutex("given up").Lock(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end of its context", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		time.Sleep(2 * time.Millisecond)
		if got := store.kinds(); len(got) != 1 || !slices.Equal(got[0], []string{"lock_batch", "lock", "cancel"}) {
			t.Errorf("sent %v, want a batch, the lock and behind it its cancel", got)
		}
	})
}

// The release of a name that is known to be wanted is no matter for a batch, which could
// not hand it over.
func TestRecalledIsNoBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		store.batch = func(call driver.Call) driver.Result {
			all := served(call)
			for i, word := range all.Reply { // two wait behind each
				all.Reply[i] = strings.Replace(word, " 64 0 ", " 64 2 ", 1)
			}
			return all
		}
		manyCalls(t, client, 30)
		if got := store.count("unlock"); got < 10 {
			t.Errorf("%d names that are waited for were released by scripts of their own, want all that a batch had locked", got)
		}
	})
}
